package exchange

import (
	"context"

	"holdfast/functions/internal/wire"
)

// allowAlone holds the caller's limits for an errand that costs something, by a
// read of its own: it has no plan whose read could bring the counters.
func (e *exchange) allowAlone(ctx context.Context) *wire.Problem {
	keys := e.allowanceKeys()
	if len(keys) == 0 {
		return nil
	}
	e.pooled = []string{e.serving.Target.Model}
	read, err := e.Store.Read(ctx, keys...)
	e.plan.Degraded = err != nil
	if err == nil {
		e.takeAllowances(read)
	}
	return e.allow(ctx)
}
