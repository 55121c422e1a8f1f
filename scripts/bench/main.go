// Command bench measures the gateway beside a bare httputil.ReverseProxy over
// the same upstream, in one run, the two in turn. It prints medians and the
// ratio of the two; on a noisy machine only the ratio says anything.
//
// Upstream, proxy and gateway are processes of their own. Each round runs every
// system once, in turn, so that a slow moment of the machine meets all of them.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	role := flag.String("role", "", "internal: upstream or proxy")
	target := flag.String("target", "", "internal: where the proxy leads")
	rounds := flag.Int("rounds", 5, "rounds; medians are taken over them")
	span := flag.Duration("span", 2*time.Second, "length of one measurement")
	clients := flag.Int("clients", 10, "clients that ask at the same time")
	flag.Parse()
	var err error
	switch *role {
	case "upstream":
		err = serveUpstream()
	case "proxy":
		err = serveProxy(*target)
	default:
		err = compare(*rounds, *clients, *span)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
