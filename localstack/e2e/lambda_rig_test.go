package e2e

import (
	"path/filepath"
	"sync"
	"testing"

	"holdfast/localstack/e2e/process"
)

// onLambda is the rigs' name for the gateway's own bootstrap in four
// environments of a local Lambda, on DynamoDB's wire.
const onLambda = "lambda"

// throughLambda makes a gateway serve through the bootstraps.
func throughLambda(t *testing.T, o *process.Options) {
	t.Helper()
	o.Store = "dynamodb"
	o.Args = append([]string{"-lambda", "4"}, o.Args...)
	o.Env = append([]string{"HOLDFAST_BOOTSTRAP=" + bootstrap(t)}, o.Env...)
}

// built is the bootstrap, compiled once for all tests that need it.
var built = sync.OnceValues(func() (string, error) {
	return process.BuildMain(filepath.Join(filepath.Dir(binary), "bootstrap"), "./functions/gateway", bootstrapFlags()...)
})

// bootstrapFlags are those of a bootstrap that is not to be debugged.
func bootstrapFlags() []string {
	return []string{"-buildvcs=false", "-tags", "lambda.norpc", "-ldflags", "-s -w"}
}

// bootstrap returns the path of the gateway's bootstrap.
func bootstrap(t *testing.T) string {
	t.Helper()
	file, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return file
}
