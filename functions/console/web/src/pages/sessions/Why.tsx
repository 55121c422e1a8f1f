import { useTranslation } from 'react-i18next'
import type { Explanation } from '../../api/events'
import { Badge } from '../../ui/basics'
import { useFormat } from '../../ui/format'

// Why shows a routing decision: what became of the preference, and where each
// candidate stands.
export function Why({ explanation: x }: { explanation: Explanation }) {
  const { t } = useTranslation()
  const f = useFormat()
  const scored = (x.candidates ?? []).some((c) => c.scores)
  const reason = (code: string) => t(`reasons.${code}`, { defaultValue: code })
  return (
    <div className="why">
      <h3>{t('why.title')}</h3>
      <p>
        {x.preference
          ? x.preference.kept
            ? t('why.kept', { deployment: x.preference.deployment })
            : t('why.left', { deployment: x.preference.deployment, reason: reason(x.preference.reason ?? '') })
          : t('why.none')}
        {x.refusal && <> <Badge tone="bad">{x.refusal}</Badge></>}
      </p>
      {x.strategy && (
        <p className="hint">{x.template ? t('why.rules', { template: x.template, from: t(`keys.levels.${x.template_source}`, { defaultValue: x.template_source }), strategy: x.strategy }) : t('why.builtIn', { strategy: x.strategy })}</p>
      )}
      {(x.candidates?.length ?? 0) > 0 && (
        <div className="plain-scroll" tabIndex={0}>
          <table className="plain-table">
            <thead><tr>
              <th className="number rank">{t('why.rank')}</th><th>{t('columns.deployment')}</th><th>{t('why.reason')}</th>{scored && <><th className="number">{t('why.weight')}</th><th className="number">{t('why.expected')}</th></>}
            </tr></thead>
            <tbody>
              {x.candidates?.map((c) => (
                <tr key={c.deployment + (c.chain ?? '')} className={c.kept ? '' : 'dim'}>
                  <td className="number">{c.rank || '–'}</td>
                  <td>{c.deployment}{c.chain && <> <Badge>{c.chain}</Badge></>}</td>
                  <td>{c.kept ? <Badge tone="good">{t('why.may')}</Badge> : <Badge tone="warn">{reason(c.reason)}</Badge>}{c.until ? <span className="hint"> {t('why.until', { time: f.clock(c.until * 1000) })}</span> : null}</td>
                  {scored && <><td className="number">{c.scores ? f.count(c.scores.weight) : '–'}</td><td className="number">{f.usd(c.scores?.usd)}</td></>}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  )
}
