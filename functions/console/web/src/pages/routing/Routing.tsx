import { useTranslation } from 'react-i18next'
import { useSearchParams } from 'wouter'
import { useConfig } from '../../api/config'
import { ErrorNote, Loading, Page, Segmented } from '../../ui/basics'
import { Editor } from './Editor'
import { Explain } from './Explain'
import { Live } from './Live'
import { Revisions } from './Revisions'

const tabs = ['live', 'edit', 'explain', 'revisions'] as const
type Tab = (typeof tabs)[number]

export function Routing() {
  const { t } = useTranslation()
  const [search, setSearch] = useSearchParams()
  const tab = tabs.find((x) => x === search.get('tab')) ?? 'live'
  const config = useConfig()
  return (
    <Page title={t('pages.routing')} hint={t('routing.hint')} actions={
      <Segmented<Tab> hideLabel label={t('routing.views')} value={tab} onChange={(next) => setSearch({ tab: next })}
        options={tabs.map((value) => ({ value, text: t(`routing.tabs.${value}`) }))} />
    }>
      {config.isPending && <Loading lines={8} />}
      {config.error && !config.data && <ErrorNote error={config.error} onRetry={() => void config.refetch()} />}
      {config.data && tab === 'live' && <Live document={config.data.document} />}
      {config.data && tab === 'edit' && <Editor stored={config.data} />}
      {config.data && tab === 'explain' && <Explain document={config.data.document} />}
      {config.data && tab === 'revisions' && <Revisions stored={config.data} />}
    </Page>
  )
}
