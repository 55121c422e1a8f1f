package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// report prints the table.
func report(out io.Writer, w world, results []Result) {
	if len(results) == 0 || results[0].Requests == 0 {
		fmt.Fprintln(out, "the trace has no requests")
		return
	}
	first := results[0]
	fmt.Fprintf(out, "%d requests, at most %d at once; %d accounts, %d processes, caches kept for %g s, seed %d\n\n",
		first.Requests, first.Concurrent, w.accounts, w.instances, w.ttl, w.seed)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "policy\tinput cached\tUSD\tof none\tmoves\tfailed\tcalls a request\tbusiest ÷ mean\tstore reads\twrites\tUSD\t")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%.1f %%\t%.2f\t%.2f\t%d\t%d\t%.3f\t%.2f\t%d\t%d\t%.2f\t\n", r.Policy, 100*r.Hit(), r.Cost, r.Cost/first.Cost,
			r.Moves, r.Failed, float64(r.Calls)/float64(r.Requests), r.Imbalance, r.Store.Reads, r.Store.Writes, r.StoreCost)
	}
	t.Flush()
}
