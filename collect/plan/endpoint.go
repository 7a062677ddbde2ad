package plan

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// Endpoint is a base URL taken apart.
type Endpoint struct {
	Scheme   string // "http" or "https"
	Host     string // without port and without the brackets of an IPv6 address
	Port     int64  // the scheme's own when the URL gives none
	Path     string // "" or starts with "/", no trailing "/"
	Redacted bool   // the host is a placeholder such as [host-a]; nothing can be sent to it
}

// hostPlaceholder is what a redacted host looks like. net/url refuses it, as it
// takes the brackets for an IPv6 address; so base URLs are taken apart here.
var hostPlaceholder = regexp.MustCompile(`^\[host-[a-z]+\]`)

// baseURL is scheme, authority and path. User info, query and fragment are named
// apart, because each is a problem of its own.
var baseURL = regexp.MustCompile(`^(https?)://([^/?#]*)([^?#]*)([?#].*)?$`)

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// ParseEndpoint takes a base URL apart. The error never quotes the URL, which
// could carry a credential.
func ParseEndpoint(text string) (Endpoint, error) {
	m := baseURL.FindStringSubmatch(text)
	switch {
	case m == nil:
		return Endpoint{}, fmt.Errorf("expected http://HOST:PORT/PATH or https://HOST:PORT/PATH")
	case strings.Contains(m[2], "@"):
		return Endpoint{}, fmt.Errorf("the URL carries user info; remove it and give the token with --api-key-env")
	case m[4] != "":
		return Endpoint{}, fmt.Errorf("the URL carries a query or fragment; remove it")
	}
	e := Endpoint{Scheme: m[1], Path: strings.TrimRight(m[3], "/"), Port: 80}
	if e.Scheme == "https" {
		e.Port = 443
	}
	port, hasPort, ok := e.splitAuthority(m[2])
	if !ok {
		return Endpoint{}, fmt.Errorf("the URL's host is not a host name or address")
	}
	if hasPort {
		n, err := strconv.ParseInt(port, 10, 64)
		if err != nil || n < portRange.low || n > portRange.high {
			return Endpoint{}, fmt.Errorf("the URL's port is not a number from %d to %d", portRange.low, portRange.high)
		}
		e.Port = n
	}
	return e, nil
}

func (e *Endpoint) splitAuthority(authority string) (port string, hasPort, ok bool) {
	if h := hostPlaceholder.FindString(authority); h != "" {
		e.Host, e.Redacted = h, true
		port, hasPort = strings.CutPrefix(authority[len(h):], ":")
		return port, hasPort, hasPort || port == ""
	}
	if strings.HasPrefix(authority, "[") {
		inside, rest, closed := strings.Cut(authority[1:], "]")
		addr, err := netip.ParseAddr(inside)
		e.Host = inside
		port, hasPort = strings.CutPrefix(rest, ":")
		return port, hasPort, closed && err == nil && addr.Is6() && (hasPort || rest == "")
	}
	e.Host, port, hasPort = strings.Cut(authority, ":")
	return port, hasPort, hostName.MatchString(e.Host)
}

// Loopback says whether the endpoint is on this host by its name or address.
func (e Endpoint) Loopback() bool {
	if strings.EqualFold(e.Host, "localhost") {
		return true
	}
	ip := net.ParseIP(e.Host)
	return ip != nil && ip.IsLoopback()
}
