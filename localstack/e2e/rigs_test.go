package e2e

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"holdfast/localstack/dynalite"
	"holdfast/localstack/wirefault"
)

// rigVariable chooses where the suite's gateways run. Unset, they run as each
// test says. With "lambda" every one of them is the gateway's own bootstrap in
// four environments, on DynamoDB's wire: what users deploy passes what all else
// passes. The make file runs the suite in both ways.
const rigVariable = "HOLDFAST_E2E_RIG"

// deployed reports whether this run is the one through the bootstraps.
func deployed() bool { return os.Getenv(rigVariable) == onLambda }

// placed is the kind of rig that a test gets where it asks for one: the one
// place that decides.
func placed(store string) string {
	if deployed() {
		return onLambda
	}
	return store
}

// rigs returns the stores that a test's rows are for. Through the bootstraps there
// is but one, and rows of the others would only repeat it.
func rigs(stores ...string) []string {
	if deployed() {
		return []string{onLambda}
	}
	return stores
}

// commonWire is DynamoDB's wire for all rigs of a run, each with tables of its own:
// a start of its own would cost each a second.
var commonWire = sync.OnceValues(func() (*dynalite.Server, error) {
	server, err := dynalite.Start(context.Background())
	if err == nil {
		started = server
	}
	return server, err
})

// started is the shared server once there is one, for its end.
var started *dynalite.Server

// closeShared ends what all tests have shared.
func closeShared() error {
	if started == nil {
		return nil
	}
	return started.Close()
}

// wire gives a rig tables of its own, behind a front that tests put faults into.
func (r *rig) wire() {
	r.t.Helper()
	server, err := commonWire()
	if err != nil {
		r.t.Fatal(err)
	}
	own := make([]byte, 6)
	_, _ = rand.Read(own) // never fails
	r.front = wirefault.New(wirefault.Config{Target: server.Endpoint()})
	r.front.CountApart(booking)
	front := httptest.NewServer(r.front)
	r.t.Cleanup(front.Close)
	r.endpoint = front.URL
	r.env = append(r.env, "AWS_ENDPOINT_URL_DYNAMODB="+front.URL, "HOLDFAST_TABLE_PREFIX="+server.Prefix()+hex.EncodeToString(own)+"-")
}

// everyEnvironment lets each of four environments serve once: the first request
// of each reads secret and configuration, which is not what tests are about.
// They are used in turn.
func everyEnvironment(t *testing.T, url string) {
	t.Helper()
	for range 8 {
		get(t, url+"/v1/models", keyA)
	}
}
