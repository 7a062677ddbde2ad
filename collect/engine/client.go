package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/collect/record"
)

// Defaults and limits of a Client.
const (
	DefaultTimeout = 5 * time.Second
	maxPageBytes   = 64 << 20
	maxAnswerBytes = 1 << 20
	maxHeadBytes   = 64 << 10
)

// Error codes of Client, for the error column of pages and answers. An HTTP
// status other than 200 gives http_NNN.
const (
	ErrConnect     = "connect_failed" // no TCP connection, or the name has no address
	ErrTLS         = "tls_failed"
	ErrTimeout     = "timeout"     // the client's own limit, whatever it was waiting for
	ErrInterrupted = "interrupted" // the caller's context ended
	ErrReset       = "connection_reset"
	ErrTorn        = "torn"      // body shorter than its head announced
	ErrTooLarge    = "too_large" // body beyond the limit; not kept
	ErrEncoded     = "encoded"   // body compressed although identity was asked for
	ErrProtocol    = "protocol"  // no HTTP answer
)

// ClientOptions say whom a Client asks.
type ClientOptions struct {
	BaseURL string        // OpenAI-compatible base, ending in /v1
	Token   string        // bearer token; empty for none
	Timeout time.Duration // for one question from dial to last byte; 0 for DefaultTimeout
}

// Client puts GET questions to an engine beside the measured load. Each question
// is one connection of its own, closed after it: nothing is replayed on a dead
// connection, no slot is held in the server between questions, and the
// connections of the requests stay apart. No redirect is followed, no proxy of
// the environment is used, no compression is asked for. A Client is safe for
// concurrent use; one scrape at a time is the caller's rule.
type Client struct {
	root    string
	token   string
	timeout time.Duration
	http    *http.Client

	mu      sync.Mutex
	metrics string // path of the metrics page; empty until the engine has said what it is
}

// NewClient checks the base URL. Errors do not quote it.
func NewClient(o ClientOptions) (*Client, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("base URL is not an http or https URL with a host")
	}
	if base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("base URL has user information, a query or a fragment: give the token apart")
	}
	path, ok := strings.CutSuffix(strings.TrimRight(base.Path, "/"), "/v1")
	if !ok {
		return nil, errors.New("base URL does not end in /v1")
	}
	base.Path, base.RawPath = path, ""
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Client{
		root: base.String(), token: o.Token, timeout: o.Timeout,
		http: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext:            (&net.Dialer{}).DialContext,
				DisableKeepAlives:      true,
				DisableCompression:     true,
				MaxResponseHeaderBytes: maxHeadBytes,
				Protocols:              protocols,
			},
		},
	}, nil
}

// Scrape fetches the metrics page once. The row is complete whatever happened:
// Error says why there is no whole page, Body holds what came, up to 64 MiB, and
// BodySHA256 is the hash of Body.
func (c *Client) Scrape(ctx context.Context, anchor record.Anchor, seq int64, phase string) record.Page {
	p := record.Page{Seq: seq, Phase: phase}
	path := c.metricsPath(ctx)
	p.StartNs, p.StartUnixNs = anchor.Now()
	a := c.get(ctx, path, maxPageBytes)
	p.EndNs, _ = anchor.Now()
	p.HTTPStatus, p.ContentType, p.Error, p.Body = a.status, a.contentType, a.code, a.body
	if len(p.Body) > 0 {
		sum := sha256.Sum256(p.Body)
		p.BodySHA256 = hex.EncodeToString(sum[:])
	}
	return p
}

// metricsPath is where the page is. TensorRT-LLM has a list of its last iterations
// at /metrics, which a read empties, and its page elsewhere; so before its first
// scrape a Client asks once who the engine is.
func (c *Client) metricsPath(ctx context.Context) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.metrics != "" {
		return c.metrics
	}
	a := c.get(ctx, pathModels, maxAnswerBytes)
	if a.status == nil {
		return pathMetrics
	}
	c.metrics = pathMetrics
	models, _ := Models(a.body)
	if slices.ContainsFunc(models, func(m Model) bool { return m.OwnedBy == "tensorrt_llm" }) {
		c.metrics = pathTensorRTMetrics
	}
	return c.metrics
}

// Ask puts one identity question, such as /v1/models, /version or /health. Paths
// count from the root, that is the base URL without its /v1. A status other than
// 200 is an error code; the body is kept all the same, up to 1 MiB. Of /server_info
// only what KeepSettings leaves is kept.
func (c *Client) Ask(ctx context.Context, anchor record.Anchor, phase, path string) record.Answer {
	a := c.get(ctx, path, maxAnswerBytes)
	row := record.Answer{Phase: phase, Path: path, HTTPStatus: a.status, Error: a.code, Body: a.body}
	if path == PathServerInfo || path == PathServerInfoOld {
		row.Body = KeepSettings(a.body)
	}
	row.AtNs, row.AtUnixNs = anchor.Now()
	return row
}

// answer is one exchange.
type answer struct {
	status      *int64
	contentType string
	body        []byte
	code        string
}

func (c *Client) get(ctx context.Context, path string, limit int64) answer {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errOwnLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.root+path, nil)
	if err != nil {
		return answer{code: ErrProtocol}
	}
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Set("User-Agent", "assay")
	if path == pathMetrics || path == pathTensorRTMetrics {
		// Keeps engines from answering in OpenMetrics or protobuf.
		request.Header.Set("Accept", "text/plain;version=0.0.4")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{code: errorCode(ctx, err, ErrProtocol)}
	}
	defer response.Body.Close()
	return readAnswer(ctx, response, limit)
}

func readAnswer(ctx context.Context, response *http.Response, limit int64) answer {
	status := int64(response.StatusCode)
	// A head may hold any byte; a text column must not.
	kind := strings.ToValidUTF8(response.Header.Get("Content-Type"), "\uFFFD")
	a := answer{status: &status, contentType: kind}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	encoding := response.Header.Get("Content-Encoding")
	switch {
	case int64(len(body)) > limit:
		a.code = ErrTooLarge
		return a
	case err != nil:
		a.code = errorCode(ctx, err, ErrTorn)
	case encoding != "" && encoding != "identity":
		a.code = ErrEncoded
	case status != http.StatusOK:
		a.code = "http_" + strconv.FormatInt(status, 10)
	}
	a.body = body
	return a
}

// errOwnLimit tells the client's limit from the caller's deadline.
var errOwnLimit = fmt.Errorf("question took too long: %w", context.DeadlineExceeded)

// errorCode names an error without its text, which quotes addresses.
func errorCode(ctx context.Context, err error, otherwise string) string {
	var (
		operation *net.OpError
		name      *net.DNSError
		timeout   net.Error
	)
	switch {
	case context.Cause(ctx) == errOwnLimit:
		return ErrTimeout
	case ctx.Err() != nil:
		return ErrInterrupted
	case errors.As(err, &name), errors.As(err, &operation) && operation.Op == "dial":
		return ErrConnect
	case errors.As(err, &timeout) && timeout.Timeout():
		return ErrTimeout
	case otherwise == ErrTorn:
		return ErrTorn
	case isTLS(err):
		return ErrTLS
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), operation != nil:
		return ErrReset
	}
	return otherwise
}
