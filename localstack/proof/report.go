package proof

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Report prints results as a table.
func Report(out io.Writer, plan Plan, results []Result) {
	fmt.Fprintf(out, "%d conversations × %d growing turns, 3 accounts, the accounts' own usage reports\n\n", plan.Conversations, plan.Turns)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "routing\tinput tokens\tfrom cache\tof reachable\tcost USD\tdeployments a conversation\t")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%d\t%.1f %%\t%.1f %%\t%.4f\t%d\t\n", r.Policy, r.Input, 100*r.Hit(), 100*r.Reached(), r.Cost(), r.Accounts)
	}
	table.Flush()
	if len(results) > 1 {
		kept, lost := results[0].Cost(), results[len(results)-1].Cost()
		fmt.Fprintf(out, "\nkeeping conversations together costs %.0f %% of what %s costs\n", 100*kept/lost, results[len(results)-1].Policy)
	}
}
