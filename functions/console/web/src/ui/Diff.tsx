import { diffLines } from 'diff'
import { useMemo } from 'react'
import { useTranslation } from 'react-i18next'

const context = 3 // lines that are shown round a change

// Diff shows what has changed from one text to another, and the lines round it.
export function Diff({ from, to, label }: { from: string; to: string; label: string }) {
  const { t } = useTranslation()
  const changes = useMemo(() => diffLines(from, to), [from, to])
  const left = (count: number) => t('revisions.lines', { count })
  return (
    <pre className="diff" tabIndex={0} aria-label={label}>
      {changes.map((c, i) => c.added || c.removed
        ? <span key={i} className={c.added ? 'added' : 'removed'}>{marked(c.value, c.added ? '+ ' : '− ')}</span>
        : <span key={i}>{folded(c.value, i === 0, i === changes.length - 1, left)}</span>)}
    </pre>
  )
}

function marked(text: string, sign: string): string {
  return text.replace(/\n$/, '').split('\n').map((l) => sign + l).join('\n') + '\n'
}

// folded leaves out what is far from any change, and says how much that is.
export function folded(text: string, first: boolean, last: boolean, left: (lines: number) => string): string {
  const lines = text.replace(/\n$/, '').split('\n').map((l) => '  ' + l)
  const head = first ? 0 : context
  const tail = last ? 0 : context
  if (lines.length <= head + tail + 1) return lines.join('\n') + '\n'
  return [...lines.slice(0, head), `  ⋯ ${left(lines.length - head - tail)}`, ...lines.slice(lines.length - tail)].join('\n') + '\n'
}
