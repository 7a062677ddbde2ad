package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"assay/collect/sample"
)

// DefaultDockerSocket is where the Docker Engine listens.
const DefaultDockerSocket = "/var/run/docker.sock"

// container asks the Docker Engine about one container, over its unix socket
// and by GET only.
type container struct{ socket, name string }

// containerState is the part of a container's state that is looked at.
type containerState struct {
	ID           string `json:"Id"`
	Image        string `json:"Image"` // sha256 of the image
	RestartCount int64  `json:"RestartCount"`
	// Args may hold keys; only what engine.KeepArgv leaves of them goes anywhere.
	Args  []string `json:"Args"`
	State struct {
		Status    string `json:"Status"`
		OOMKilled bool   `json:"OOMKilled"`
		ExitCode  int64  `json:"ExitCode"`
		Pid       int64  `json:"Pid"`
	} `json:"State"`
}

// errNotVisible hides the error's own text, which holds a path of the host.
var errNotVisible = errors.New("not visible: the Docker Engine does not answer for this container")

// inspect reads the container's state.
func (c *container) inspect() (containerState, error) {
	var state containerState
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/containers/"+url.PathEscape(c.name)+"/json", nil)
	if err != nil {
		return state, errNotVisible
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return state, errNotVisible
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(response.Body, 4<<20)).Decode(&state) != nil || state.ID == "" {
		return state, errNotVisible
	}
	return state, nil
}

// group is the control group of the container's first process, read below proc.
func (c *container) group(proc string) sample.Group {
	state, err := c.inspect()
	if err != nil {
		return sample.NoGroup("the Docker Engine does not answer for this container")
	}
	return sample.GroupOf(proc, state.State.Pid)
}

// ContainerFacts are the identity facts of a container. The error says that it
// is not visible, and nothing of the host.
func ContainerFacts(socket, name string) (map[string]string, error) {
	state, err := (&container{socket: socket, name: name}).inspect()
	if err != nil {
		return nil, err
	}
	return map[string]string{FactContainerID: state.ID, FactImage: state.Image, FactRestartCount: decimal(state.RestartCount)}, nil
}
