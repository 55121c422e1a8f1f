// Package process builds Holdfast and runs it as its users do: as a process of
// its own, reached over HTTP, stopped by a signal or killed.
//
// A Gateway is tied to the life of the process that started it: it ends with
// its test, whatever happens.
//
// Concurrency: methods of one Gateway may be called by many goroutines, except
// Stop and Kill, which end it. Build is done once however many ask.
package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say how a gateway is started.
type Options struct {
	Binary string   // as Build returns it
	Config string   // the document's text; "": none
	Store  string   // memory, bolt, dynamodb; "": memory
	Data   string   // the bolt file's folder, and the working directory
	Env    []string // NAME=value, beside the few that a process needs
	Args   []string // further flags
	Unread bool     // the log goes nowhere, and costs nobody anything to read
}

// Gateway is a running process.
type Gateway struct {
	URL string // http://HOST:PORT

	command *exec.Cmd
	ended   chan struct{}
	output  output
	log     output
}

// Build compiles the command into a folder and returns the binary's path.
func Build(folder string) (string, error) {
	return BuildMain(filepath.Join(folder, "holdfast"), "./functions/local")
}

// BuildMain compiles a main package of the module, with further flags for the
// compiler, and returns the binary's path.
func BuildMain(binary, pkg string, flags ...string) (string, error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	if err := listSources(root, pkg, binary); err != nil {
		return "", err
	}
	command := exec.Command("go", append(append([]string{"build", "-o", binary}, flags...), pkg)...)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, Sources(binary)
}

// root is the module's folder.
func root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("module root: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// startLimit bounds how long a start may take on a busy machine.
const startLimit = 60 * time.Second

// Start runs a gateway on a free port and returns once it answers.
func Start(o Options) (*Gateway, error) {
	if err := Sources(o.Binary); err != nil {
		return nil, err
	}
	g := &Gateway{command: exec.Command(o.Binary), ended: make(chan struct{})}
	args, err := o.arguments()
	if err != nil {
		return nil, err
	}
	g.command.Args = append(g.command.Args, args...)
	g.command.Dir = o.Data
	g.command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Data}, o.Env...)
	g.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	g.command.Stdout = &g.output
	if !o.Unread {
		g.command.Stderr = &g.log
	}
	if err := g.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = g.command.Wait() // how it ended is in ProcessState
		close(g.ended)
	}()
	return g, g.await()
}

// arguments are the flags, after the document has been written to a file.
func (o Options) arguments() ([]string, error) {
	store := o.Store
	if store == "" {
		store = "memory"
	}
	args := []string{"-addr", "127.0.0.1:0", "-store", store, "-data", filepath.Join(o.Data, "data")}
	if o.Config != "" {
		file := filepath.Join(o.Data, "config.yaml")
		if err := os.WriteFile(file, []byte(o.Config), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "-config", file)
	}
	return append(args, o.Args...), nil
}

// await waits until the gateway says where it listens and answers there.
func (g *Gateway) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	for {
		change := g.output.changed() // taken first: what is written from here on is not missed
		if url, said := g.output.after("listening on "); said {
			g.URL = url
			if answer, err := http.Get(url + "/healthz"); err == nil {
				answer.Body.Close()
				return nil
			}
		}
		select {
		case <-g.ended:
			return fmt.Errorf("the gateway ended at its start: %s\n%s%s", g.command.ProcessState, g.Output(), g.Log())
		case <-ctx.Done():
			g.Kill()
			return errors.New("the gateway did not start in time: " + g.Log())
		case <-change:
		}
	}
}

// PID is the process's id.
func (g *Gateway) PID() int { return g.command.Process.Pid }

// Output is what the gateway has printed for people.
func (g *Gateway) Output() string { return g.output.String() }

// Log is what the gateway has logged.
func (g *Gateway) Log() string { return g.log.String() }

// Lines returns the log's lines, one exchange or message each.
func (g *Gateway) Lines() []string {
	var lines []string
	for scan := bufio.NewScanner(strings.NewReader(g.Log())); scan.Scan(); {
		lines = append(lines, scan.Text())
	}
	return lines
}

// Kill ends the gateway at once, as kill -9 does, and waits for its end.
func (g *Gateway) Kill() {
	_ = g.command.Process.Kill()
	<-g.ended
}

// stopLimit bounds how long a stop may take: twice what is promised.
const stopLimit = 60 * time.Second

// Stop asks the gateway to finish, as SIGTERM does, and returns its exit code. One
// that does not end is killed in the end; its code is -1.
func (g *Gateway) Stop() int {
	_ = g.command.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(stopLimit, func() { _ = g.command.Process.Kill() })
	defer late.Stop()
	<-g.ended
	return g.command.ProcessState.ExitCode()
}

// output gathers what a process writes and tells of changes.
type output struct {
	mu     sync.Mutex
	text   bytes.Buffer
	change chan struct{}
}

var _ io.Writer = (*output)(nil)

// Write takes text in.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.change != nil {
		close(o.change)
		o.change = nil
	}
	return o.text.Write(p)
}

// String returns the text so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// changed returns a channel that is closed at the next write.
func (o *output) changed() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.change == nil {
		o.change = make(chan struct{})
	}
	return o.change
}

// after returns the word behind a text on its line.
func (o *output) after(text string) (string, bool) {
	_, rest, found := strings.Cut(o.String(), text)
	word, _, whole := strings.Cut(rest, "\n")
	return strings.TrimSpace(word), found && whole
}
