import { useTranslation } from 'react-i18next'
import type { Budget } from '../../api/config'
import type { Spending } from '../../api/keys'
import { Meter } from '../../ui/basics'
import { useFormat } from '../../ui/format'

// BudgetBar shows how much of a budget's running period is used up, and when it
// begins anew. What is reserved counts, as it does for the next request.
export function BudgetBar({ name, budget, spending }: { name: string; budget: Budget; spending?: Spending }) {
  const { t } = useTranslation()
  const f = useFormat()
  const spent = spending ? spending.spent_usd + spending.reserved_usd : undefined
  const text = t('keys.spent', { spent: f.usd(spent), limit: f.usd(budget.usd), period: t(`periods.${budget.period}`) })
  return (
    <span title={spending && t('keys.resets', { time: f.time(spending.resets) })}>
      <Meter label={t('keys.budgetOf', { id: name })} value={spent ?? 0} max={budget.usd} text={text} />
    </span>
  )
}
