// Command bench measures the gateway beside a bare httputil.ReverseProxy over
// the same upstream, in one run, the systems in turn. It prints medians and the
// ratio to the proxy; on a noisy machine only the ratio says anything.
//
// Upstream, proxy and gateways are processes of their own: in memory, on bolt,
// on DynamoDB's wire (dynalite, a program in JavaScript that is slower than all
// else here), and as four of the bootstraps that are deployed. Each round runs
// every system once, in turn, so that a slow moment of the machine meets all of
// them.
//
//	go run ./scripts/bench [-quick] [-json FILE] [-rounds N] [-span D] [-clients 1,10,64]
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	role := flag.String("role", "", "internal: upstream or proxy")
	target := flag.String("target", "", "internal: where the proxy leads")
	p := plan{clients: []int{1, 10, 64}}
	quick := flag.Bool("quick", false, "a look at all of it within a minute: short rounds, 10 clients")
	flag.IntVar(&p.rounds, "rounds", 5, "rounds; medians are taken over them")
	flag.DurationVar(&p.span, "span", time.Second, "length of one measurement")
	flag.StringVar(&p.load, "load", "", "only loads with this in their names")
	flag.StringVar(&p.system, "system", "", "only systems with this in their names, beside the yardstick")
	flag.StringVar(&p.json, "json", "", "write the results to this `FILE`")
	flag.Func("clients", "how many ask at the same time, as a `LIST`", func(list string) error {
		p.clients = nil
		for one := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(one)
			if err != nil || n < 1 {
				return fmt.Errorf("takes numbers above 0")
			}
			p.clients = append(p.clients, n)
		}
		return nil
	})
	flag.Parse()
	if *quick {
		p.rounds, p.span, p.clients = 3, 300*time.Millisecond, []int{10}
	}
	var err error
	switch *role {
	case "upstream":
		err = serveUpstream()
	case "proxy":
		err = serveProxy(*target)
	default:
		err = compare(p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
