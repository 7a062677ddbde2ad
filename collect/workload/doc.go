// Package workload makes what a request sends: the prompt with its marker, and
// the JSON body.
//
// In come a cell of the plan and a request index. Out go a prompt and a body,
// the same for every run, host and arm. The package reads no clock and no file
// and never sends anything. Its word list is part of the template: a change of
// either needs a new [TemplateVersion].
//
//	prompt, err := workload.Build(cell, 3)
//	if err != nil {
//		return err
//	}
//	body, err := workload.Body(cell, prompt)
package workload
