package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"holdfast/localstack/dynalite"
	"holdfast/localstack/e2e/process"
)

// callerKey is the key of the measured gateways.
const callerKey = "sk-bench"

// system is one thing that is measured.
type system struct {
	name string
	url  string
	pid  int // of its process; those that it has started count as well
	stop func()
}

// cpu is what the system's processes have used so far.
func (s system) cpu() time.Duration {
	var all time.Duration
	for _, pid := range family(s.pid) {
		all += used(pid)
	}
	return all
}

// yardstick is the system that ratios are taken against.
const yardstick = "reverse proxy"

// start runs the upstream, the proxy and the gateways, and returns what ends all
// of it.
func start(ctx context.Context) (systems []system, stop func(), err error) {
	var ends []func()
	stop = func() {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
	}
	add := func(s system, err error) error {
		if err == nil {
			systems, ends = append(systems, s), append(ends, s.stop)
		}
		return err
	}
	if err := add(child("direct", "-role", "upstream")); err != nil {
		return nil, stop, err
	}
	upstream := systems[0].url
	if err := add(child(yardstick, "-role", "proxy", "-target", upstream)); err != nil {
		return nil, stop, err
	}
	folder, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return nil, stop, err
	}
	ends = append(ends, func() { _ = os.RemoveAll(folder) })
	wire, err := dynalite.Start(ctx)
	if err != nil {
		return nil, stop, err
	}
	ends = append(ends, func() { _ = wire.Close() })
	all, err := kinds(folder, wire)
	if err != nil {
		return nil, stop, err
	}
	for _, k := range all {
		if err := add(k.run(upstream)); err != nil {
			return nil, stop, fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return systems, stop, nil
}

// kind is one way in which the gateway runs.
type kind struct {
	name    string
	options process.Options
}

// kinds are the gateway on each store, and as the bootstrap that is deployed.
func kinds(folder string, wire *dynalite.Server) ([]kind, error) {
	binary, err := process.Build(folder)
	if err != nil {
		return nil, err
	}
	bootstrap, err := process.BuildMain(filepath.Join(folder, "bootstrap"), "./functions/gateway", "-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w")
	if err != nil {
		return nil, err
	}
	tables := func(name string) []string {
		return []string{"AWS_ENDPOINT_URL_DYNAMODB=" + wire.Endpoint(), "HOLDFAST_TABLE_PREFIX=" + wire.Prefix() + name + "-"}
	}
	return []kind{
		{"holdfast, memory", process.Options{Binary: binary, Store: "memory"}},
		{"holdfast, bolt", process.Options{Binary: binary, Store: "bolt"}},
		{"holdfast, dynalite", process.Options{Binary: binary, Store: "dynamodb", Env: tables("net")}},
		{"holdfast, bootstraps", process.Options{Binary: binary, Store: "dynamodb", Args: []string{"-lambda", "4"},
			Env: append(tables("lambda"), "HOLDFAST_BOOTSTRAP="+bootstrap)}},
	}, nil
}

// run starts the gateway before the upstream.
func (k kind) run(upstream string) (system, error) {
	data, err := os.MkdirTemp("", "holdfast-bench-data-")
	if err != nil {
		return system{}, err
	}
	o := k.options
	o.Data, o.Unread = data, true
	o.Config = fmt.Sprintf(`connections: [{id: bench, provider: openai-compatible, base_url: %s/v1, auth: {type: none}, allow_private_network: true}]
deployments:
  - {id: chat-bench, model: chat, connection: bench, protocol: chat}
  - {id: responses-bench, model: responses, connection: bench, protocol: responses}
  - {id: messages-bench, model: messages, connection: bench, protocol: messages}
keys: [{id: bench, key: %s}]
`, upstream, callerKey)
	g, err := process.Start(o)
	if err != nil {
		return system{}, err
	}
	return system{k.name, g.URL, g.PID(), func() { g.Kill(); _ = os.RemoveAll(data) }}, nil
}

// child runs this program in another role and returns once it listens.
func child(name string, args ...string) (system, error) {
	self, err := os.Executable()
	if err != nil {
		return system{}, err
	}
	command := exec.Command(self, args...)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := command.StdoutPipe()
	if err != nil {
		return system{}, err
	}
	if err := command.Start(); err != nil {
		return system{}, err
	}
	stop := func() { _ = command.Process.Kill(); _ = command.Wait() }
	line, err := bufio.NewReader(out).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		stop()
		return system{}, errors.Join(errors.New("a child did not start"), err)
	}
	return system{name, url, command.Process.Pid, stop}, nil
}
