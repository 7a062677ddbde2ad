package private

import (
	"regexp"
	"slices"
	"strings"
)

// Names of fields, of JSON or of a table, that say what their value is.
var (
	// secretFlag is a flag whose value is a credential. It must not match
	// --max-tokens, --ctx-tokens or --api-key-env.
	secretFlag = regexp.MustCompile(`(?i)^--?(?:[a-z0-9_-]*[-_])?` + secretWord + `$`)
	// secretKey is a field whose text is a credential, whatever it looks like.
	secretKey = regexp.MustCompile(`(?i)^(?:[a-z0-9_-]*[-_])?` + secretWord + `$`)
	// digestKey is a field of digests.
	digestKey = regexp.MustCompile(`(?i)(?:sha256|digest|revision|hash|commit)`)
	// containerKey is a field that names a container by its id.
	containerKey = regexp.MustCompile(`(?i)container_?id$`)
	// environmentKey is a field that holds a process's environment.
	environmentKey = regexp.MustCompile(`(?i)^(?:env|envs|environ|environment|environment_variables)$`)
	// textKey is a field of a prompt, an answer or its reasoning.
	textKey = regexp.MustCompile(`(?i)^(?:prompts?|prompt_text|messages|content|reasoning_content|reasoning_text|completion|response_text|output_text|generated_texts?|input_ids|prompt_token_ids|answer_text)$`)
	// hostKey is a field that names a machine.
	hostKey = regexp.MustCompile(`(?i)^(?:host|host_?name|node|node_?name|fqdn|computer_?name|instance|pod|pod_?name)$`)
	// alreadyRedacted is a value that a redaction left, by us or by the operator.
	alreadyRedacted = regexp.MustCompile(`(?i)^\[[A-Za-z0-9_-]+\]$|redacted`)
)

// publicVariables are the environment variables whose values say how an engine
// was run and nothing of who ran it.
var publicVariables = []string{
	"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_IB_DISABLE", "NCCL_SHM_DISABLE",
	"OMP_NUM_THREADS", "TZ", "LANG", "LC_ALL", "GOMAXPROCS",
}

// NamesSecret says whether a name, such as that of an environment variable, is
// one of a credential.
func NamesSecret(name string) bool {
	return secretKey.MatchString(name) || strings.HasSuffix(strings.ToUpper(name), "_KEY")
}

// SecretVariables returns the values of the variables, written NAME=value, whose
// names say that they are credentials.
func SecretVariables(environ []string) []string {
	var secrets []string
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && value != "" && NamesSecret(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// SecretFlag says whether an argument is a flag whose value is a credential.
func SecretFlag(arg string) bool { return secretFlag.MatchString(arg) }

// byKey is the class that a field's name alone gives its value, or "".
func byKey(key, s string) Class {
	switch {
	case key == "" || s == "" || s == Redacted || alreadyRedacted.MatchString(s):
		return ""
	case NamesSecret(key):
		return SecretValue
	case textKey.MatchString(key):
		return ModelText
	case containerKey.MatchString(key):
		return ContainerID
	case hostKey.MatchString(key):
		if name, _, _ := strings.Cut(s, ":"); name != "" && bareHost(name, 0, len(name)) {
			return PrivateHost
		}
	case environmentKey.MatchString(key) && privateVariable(s):
		return Environment
	}
	return ""
}

// privateVariable says whether NAME=value is not on the list of public ones.
func privateVariable(s string) bool {
	name, value, ok := strings.Cut(s, "=")
	return ok && value != "" && value != Redacted && !slices.Contains(publicVariables, name)
}
