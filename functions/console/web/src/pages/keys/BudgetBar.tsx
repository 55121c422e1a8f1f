import { useTranslation } from 'react-i18next'
import type { Budget } from '../../api/config'
import { useSpent } from '../../api/keys'
import { Meter } from '../../ui/basics'
import { useFormat } from '../../ui/format'

// BudgetBar shows how much of a budget's running period is spent.
export function BudgetBar({ id, budget }: { id: string; budget: Budget }) {
  const { t } = useTranslation()
  const f = useFormat()
  const spent = useSpent(id, budget)
  return (
    <Meter label={t('keys.budgetOf', { id })} value={spent.data ?? 0} max={budget.usd}
      text={t('keys.spent', { spent: f.usd(spent.data), limit: f.usd(budget.usd), period: t(`periods.${budget.period}`) })} />
  )
}
