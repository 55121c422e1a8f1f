// Command console is the admin API and the web console on Lambda, behind a
// function URL in RESPONSE_STREAM mode; built for provided.al2023, its file is
// named bootstrap.
//
// Its environment is the contract: HOLDFAST_TABLE_PREFIX and AWS_REGION say
// where the records are, HOLDFAST_SECRET keys what it hashes and signs,
// HOLDFAST_ADMIN_KEY opens it, and HOLDFAST_GATEWAY_URL is where the playground
// sends requests. It makes no network call before its first invocation, and
// exits 1 where its environment cannot be right.
package main

import (
	"fmt"
	"os"

	"holdfast/functions/console/web"
	"holdfast/functions/internal/app"
	"holdfast/functions/internal/host"
)

func main() {
	handler, log, err := app.LambdaConsole(os.Environ(), os.Stderr, web.Files())
	if err != nil {
		fmt.Fprintln(os.Stderr, "console:", err)
		os.Exit(1)
	}
	(&host.Lambda{Handler: handler, Log: log, Compressed: true}).Start()
}
