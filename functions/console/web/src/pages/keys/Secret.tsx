import { useTranslation } from 'react-i18next'
import { useLocation } from 'wouter'
import type { Key } from '../../api/keys'
import { Button, Copy } from '../../ui/basics'
import { Dialog } from '../../ui/Dialog'
import { holdKey } from '../playground/key'

// Secret shows a new key, this once: it is stored as a hash.
export function Secret({ made, onClose }: { made: Key; onClose(): void }) {
  const { t } = useTranslation()
  const [, go] = useLocation()
  const secret = made.key ?? ''
  return (
    <Dialog title={t('keys.secretTitle', { id: made.id })} onClose={onClose} foot={<>
      <Button onClick={() => { holdKey(secret); go('/playground') }}>{t('keys.tryIt')}</Button>
      <Button kind="primary" onClick={onClose}>{t('keys.stored_it')}</Button>
    </>}>
      <p className="note warn">{t('keys.once')}</p>
      <div className="bar spread"><code className="secret" data-testid="secret">{secret}</code><Copy text={secret} /></div>
    </Dialog>
  )
}
