// Command gateway is the data plane on Lambda, behind a function URL in
// RESPONSE_STREAM mode; built for provided.al2023, its file is named bootstrap.
//
// Its environment is the contract: HOLDFAST_TABLE_PREFIX and AWS_REGION say
// where its records are, HOLDFAST_SECRET keys what it hashes. It makes no
// network call before its first invocation, and exits 1 where its environment
// cannot be right.
package main

import (
	"fmt"
	"os"

	"holdfast/functions/internal/app"
	"holdfast/functions/internal/host"
)

func main() {
	handler, log, err := app.Lambda(os.Environ(), os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
	(&host.Lambda{Handler: handler, Log: log}).Start()
}
