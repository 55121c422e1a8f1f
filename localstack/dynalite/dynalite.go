// Package dynalite starts npm's dynalite, which speaks DynamoDB's wire
// protocol, for tests and for local use where no Docker engine is.
//
// A server listens on the loopback address only, keeps everything in memory,
// and ends with the process that started it, even when that one is killed.
// What it lacks beside DynamoDB: the old item in the answer to a failed
// condition, calls that configure TTL, and transactions.
//
// Where AWS_ENDPOINT_URL_DYNAMODB is set nothing is started: that endpoint is
// used, so that the same tests run against LocalStack. Tests share it by
// giving their tables the prefix of their own Server.
//
// Concurrency: a Server is safe for use by many goroutines; any number of
// processes may start servers at once.
package dynalite

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// EndpointVariable names the environment variable that decides where DynamoDB
// is. The AWS SDKs read the same one.
const EndpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"

// A free port may be taken between finding it and using it.
const portTries = 5

// Server is a running dynalite, or the endpoint that the environment names.
type Server struct {
	endpoint string
	prefix   string
	process  *process // nil for an endpoint of the environment
}

// Endpoint returns the base URL, such as "http://127.0.0.1:40001".
func (s *Server) Endpoint() string { return s.endpoint }

// Prefix returns a random prefix for table names, made for this Server.
func (s *Server) Prefix() string { return s.prefix }

// Close ends the server and waits for its end. It may be called more than once.
func (s *Server) Close() error {
	if s.process == nil {
		return nil
	}
	return s.process.stop()
}

// Start starts a server, installing its npm packages first where they are
// missing, and returns when it answers. The context bounds the start only.
func Start(ctx context.Context) (*Server, error) {
	prefix, err := randomPrefix()
	if err != nil {
		return nil, err
	}
	if endpoint := os.Getenv(EndpointVariable); endpoint != "" {
		return &Server{endpoint: endpoint, prefix: prefix}, nil
	}
	home, err := folder()
	if err != nil {
		return nil, err
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("dynalite: node is not installed, it is needed for DynamoDB's wire protocol: %w", err)
	}
	if err := install(ctx, home); err != nil {
		return nil, err
	}
	return startOnFreePort(ctx, node, home, prefix)
}

func startOnFreePort(ctx context.Context, node, home, prefix string) (*Server, error) {
	var failures error
	for range portTries {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		p, err := launch(ctx, node, home, port)
		if err == nil {
			return &Server{endpoint: "http://" + net.JoinHostPort("127.0.0.1", port), prefix: prefix, process: p}, nil
		}
		failures = errors.Join(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("dynalite: did not start: %w", failures)
}

// T is what StartT needs of a *testing.T, B or TB.
type T interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// StartT starts a server that ends with the test. Whatever is missing, node
// included, fails the test.
func StartT(t T) *Server {
	t.Helper()
	s, err := Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return s
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

func randomPrefix() (string, error) {
	b := make([]byte, 6)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	return "test-" + hex.EncodeToString(b) + "-", nil
}

// folder finds this package's source folder from the working directory, since
// that is where the npm packages are. Tests and local commands run inside the
// module; a path compiled into the binary would not survive -trimpath.
func folder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if moduleHere(dir) {
			return filepath.Join(dir, "localstack", "dynalite"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("dynalite: the working directory is outside the holdfast module")
		}
		dir = parent
	}
}

func moduleHere(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer f.Close()
	first, _ := bufio.NewReader(io.LimitReader(f, 4<<10)).ReadString('\n')
	return strings.TrimSpace(first) == "module holdfast"
}
