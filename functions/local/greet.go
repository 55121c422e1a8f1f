package main

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"holdfast/functions/internal/app"
)

// greet prints where the gateway listens and how to try it, in one piece: who
// waits for the first line has the others too.
func greet(to io.Writer, at net.Addr, gateway *app.Gateway) {
	out := new(strings.Builder)
	defer func() { _, _ = io.WriteString(to, out.String()) }()
	url := "http://" + reachable(at)
	fmt.Fprintf(out, "Holdfast is listening on %s\n", url)
	if gateway.Administered() {
		fmt.Fprintf(out, "Console: %s/console/\n", url)
	} else {
		fmt.Fprintln(out, "Console: closed; it opens when HOLDFAST_ADMIN_KEY is set")
	}
	key, model := gateway.Caller()
	if key != "" {
		fmt.Fprintf(out, "key: %s\n", key)
	}
	if admin := gateway.AdminKey(); admin != "" {
		fmt.Fprintf(out, "admin key: %s (of the console and /admin/)\n", admin)
	}
	if key == "" || model == "" {
		fmt.Fprintf(out, "OpenAI clients:    base URL %s/v1\nAnthropic clients: base URL %s\n", url, url)
		return
	}
	fmt.Fprint(out, "\nTry it:\n\n")
	fmt.Fprintf(out, `curl -i %s/v1/chat/completions -H "Authorization: Bearer %s" -H "Content-Type: application/json" -d '{"model":"%s","messages":[{"role":"user","content":"Hello"}]}'`+"\n\n", url, key, model)
}

// reachable is an address that a client on this machine can take: one that
// stands for every interface is none.
func reachable(at net.Addr) string {
	if tcp, is := at.(*net.TCPAddr); is && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
	}
	return at.String()
}
