import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'wouter'
import { useConfig } from '../../api/config'
import { ErrorNote, Loading, Page, Segmented } from '../../ui/basics'
import { Changes } from './Changes'
import { Editor } from './Editor'
import { Explain } from './Explain'
import { Live } from './Live'
import { Revisions } from './Revisions'

const tabs = ['live', 'edit', 'explain', 'revisions', 'changes'] as const
type Tab = (typeof tabs)[number]

export function Routing() {
  const { t } = useTranslation()
  const [search, setSearch] = useSearchParams()
  const tab = tabs.find((x) => x === search.get('tab')) ?? 'live'
  return (
    <Page title={t('pages.routing')} hint={t('routing.hint')} actions={
      <Segmented<Tab> hideLabel label={t('routing.views')} value={tab} onChange={(next) => setSearch({ tab: next })}
        options={tabs.map((value) => ({ value, text: t(`routing.tabs.${value}`) }))} />
    }>
      {tab === 'changes' ? <Changes /> : <Configuration tab={tab} />}
    </Page>
  )
}

// Configuration shows the document in one of its views.
function Configuration({ tab }: { tab: Tab }) {
  const config = useConfig()
  if (config.isPending) return <Loading lines={8} />
  if (!config.data) return <ErrorNote error={config.error} onRetry={() => void config.refetch()} />
  switch (tab) {
    case 'edit': return <Editor stored={config.data} />
    case 'explain': return <Explain document={config.data.document} />
    case 'revisions': return <Revisions stored={config.data} />
    default: return <Live document={config.data.document} />
  }
}
