package dynamo_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/affinity/store/dynamo"
	"holdfast/localstack/dynalite"
	"holdfast/localstack/wirefault"
)

// backend is the DynamoDB of all tests here: one process, started once.
var backend *dynalite.Server

func TestMain(m *testing.M) {
	if os.Getenv(racerVariable) != "" {
		os.Exit(racer())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	server, err := dynalite.Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Close()
	backend = server
	return m.Run()
}

// Generous deadlines for tests that are not about deadlines, so that a busy
// machine does not turn a pause into a lost answer.
const (
	patientAttempt = 20 * time.Second
	patientTotal   = time.Minute
)

// fixture is a set of tables of its own behind a front of its own.
type fixture struct {
	front    *wirefault.Front
	endpoint string // of the front
	prefix   string
	client   *dynamodb.Client
}

func newFixture(t testing.TB, allOld bool) *fixture {
	t.Helper()
	f := &fixture{
		front:  wirefault.New(wirefault.Config{Target: backend.Endpoint(), AllOld: allOld}),
		prefix: randomPrefix(t),
	}
	server := httptest.NewServer(f.front)
	t.Cleanup(server.Close)
	f.endpoint = server.URL
	f.client = newClient(t, f.endpoint)
	createTables(t, f.prefix)
	return f
}

// open opens a store through the front.
func (f *fixture) open(t testing.TB, adjust func(*dynamo.Config)) *dynamo.Store {
	t.Helper()
	c := dynamo.Config{Client: f.client, Prefix: f.prefix, AttemptTimeout: patientAttempt, Timeout: patientTotal}
	if adjust != nil {
		adjust(&c)
	}
	s, err := dynamo.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newClient(t testing.TB, endpoint string) *dynamodb.Client {
	t.Helper()
	httpClient := dynamo.NewHTTPClient()
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := dynamo.NewClient(dynamo.Config{Endpoint: endpoint, HTTPClient: httpClient})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// createTables goes past any front, so that its counts show the store's calls.
func createTables(t testing.TB, prefix string) {
	t.Helper()
	if err := dynamo.CreateTables(t.Context(), newClient(t, backend.Endpoint()), prefix); err != nil {
		t.Fatal(err)
	}
}

func randomPrefix(t testing.TB) string {
	t.Helper()
	b := make([]byte, 6)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return backend.Prefix() + hex.EncodeToString(b) + "-"
}
