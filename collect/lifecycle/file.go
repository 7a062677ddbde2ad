package lifecycle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"assay/collect/plan"
)

// Schema is the only version of a lifecycle file.
const Schema = "assay/lifecycle/v1"

// ErrFile marks a lifecycle file that cannot be used.
var ErrFile = errors.New("the lifecycle file cannot be used")

// Command is one argument list with its bound. The first argument is the
// program; no shell is started.
type Command struct {
	Argv         []string `json:"argv"`
	BoundSeconds int64    `json:"bound_seconds"` // 0 is the plan's load_bound_seconds
}

// ArmCommands load and unload one arm's engine. An unload keeps the container.
type ArmCommands struct {
	Load   *Command `json:"load"`
	Unload *Command `json:"unload"`
}

// NamedFile is a file the plan names, with the digest it must have.
type NamedFile struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // lower-case hex
}

// Primary is the service's public alias, asked after the restoration.
type Primary struct {
	BaseURL   string `json:"base_url"`
	Model     string `json:"model"`       // the alias, such as llm.primary
	APIKeyEnv string `json:"api_key_env"` // environment variable with its token; "" for none
}

// File is a lifecycle file.
type File struct {
	Schema    string                 `json:"schema"`
	Incumbent string                 `json:"incumbent"` // arm that runs before the campaign and after it
	Files     []NamedFile            `json:"files"`
	Preview   *Command               `json:"preview"` // must fail while the incumbent runs, and succeed after it was stopped
	Arms      map[string]ArmCommands `json:"arms"`
	Restore   Command                `json:"restore"`
	Primary   *Primary               `json:"primary"`
}

// Load reads and checks a lifecycle file against a plan. The error names all
// that is wrong.
func Load(path string, p *plan.Plan) (File, error) {
	var f File
	text, err := os.ReadFile(path)
	if err != nil {
		return f, fmt.Errorf("read lifecycle file: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return f, f.check(p)
}

func (f *File) check(p *plan.Plan) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if f.Schema != Schema {
		wrong("/schema must be %q", Schema)
	}
	if !slices.Contains(p.Arms(), f.Incumbent) {
		wrong("/incumbent must be an arm of the plan")
	}
	commands := map[string]*Command{"/restore": &f.Restore}
	if f.Preview != nil {
		commands["/preview"] = f.Preview
	}
	for arm, c := range f.Arms {
		if !slices.Contains(p.Arms(), arm) {
			wrong("/arms/%s is no arm of the plan", arm)
		}
		if c.Load != nil {
			commands["/arms/"+arm+"/load"] = c.Load
		}
		if c.Unload != nil {
			commands["/arms/"+arm+"/unload"] = c.Unload
		}
	}
	for _, arm := range p.Arms() {
		if c := f.Arms[arm]; c.Unload == nil || c.Load == nil && arm != f.Incumbent {
			wrong("/arms/%s needs an unload command, and a load command unless it is the incumbent", arm)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(commands)) {
		c := commands[at]
		if len(c.Argv) == 0 || c.Argv[0] == "" {
			wrong("%s/argv must name a program", at)
		}
		if c.BoundSeconds == 0 {
			c.BoundSeconds = p.LoadBoundSeconds
		}
		if c.BoundSeconds < 1 || c.BoundSeconds > p.LoadBoundSeconds {
			wrong("%s/bound_seconds must be from 1 to the plan's load_bound_seconds, %d", at, p.LoadBoundSeconds)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrFile, errors.Join(errs...))
	}
	return nil
}
