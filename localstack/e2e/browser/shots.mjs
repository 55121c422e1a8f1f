// Pictures of every page in both themes at two widths, to be looked at. The
// playground is played in earnest; the ledger is a scene, as a new one is empty.
import { mkdir } from 'node:fs/promises'
import { ask, base, open, signIn, useKey } from './browser.mjs'
import { install } from './scene.mjs'

const out = process.env.HOLDFAST_PICTURES
const pages = ['playground', 'sessions', 'usage?days=30', 'routing', 'routing?tab=edit', 'routing?tab=explain', 'routing?tab=revisions', 'routing?tab=changes', 'keys']
const name = (path) => path.replace('?tab=', '-').replace(/\?.*/, '')

// furnish gives the pages something to show: keys, a second revision.
async function furnish(page) {
  await page.evaluate(async () => {
    const send = (method, path, body, more = {}) => fetch(path, { method, headers: { 'Content-Type': 'application/json', ...more }, body })
    for (const weight of [2, 3]) {
      const read = await fetch('/admin/config')
      const document = await read.json()
      document.deployments[0].weight = weight
      document.organizations = [{ id: 'acme', budget: { usd: 500, period: 'monthly' } }]
      document.teams = [{ id: 'core', organization: 'acme', budget: { usd: 20, period: 'daily', strict: true } }, { id: 'web', organization: 'acme', budget: { usd: 60, period: 'weekly' } }]
      document.templates = [{ id: 'standard', strategy: 'weighted', retry_policy: { max_attempts: 3 } }]
      await send('PUT', '/admin/config', JSON.stringify(document), { 'If-Match': read.headers.get('ETag') })
    }
    await send('POST', '/admin/keys', JSON.stringify({ id: 'ci', user: 'ci', team: 'core', models: ['demo-chat', 'demo'], budget: { usd: 25, period: 'monthly' }, limits: { rpm: 600, tpm: 2000000 } }))
    await send('POST', '/admin/keys', JSON.stringify({ id: 'notebook', user: 'ann', budget: { usd: 2, period: 'daily', strict: true }, expires: '2030-01-31' }))
  })
}

// spending answers how much of each budget is spent, as nobody has lived a month
// with a new gateway.
async function spending(page) {
  const spent = { acme: 318.4, core: 16.9, web: 61.2, ci: 9.14, notebook: 1.93 }
  const told = (id) => ({ spent_usd: spent[id] ?? 0, reserved_usd: 0, resets: new Date(Math.ceil(Date.now() / 864e5) * 864e5).toISOString() })
  for (const [path, fill] of [['/admin/keys', (k) => ({ ...k, spending: told(k.id) })], ['/admin/budgets', (b) => ({ ...b, ...told(b.id) })]]) {
    await page.route((url) => url.pathname === path, async (route) => {
      const answer = await route.fetch()
      const page_ = await answer.json()
      await route.fulfill({ response: answer, json: { ...page_, entries: page_.entries.map(fill) } })
    })
  }
}

let furnished = false
await mkdir(out, { recursive: true })
for (const width of [1280, 390]) {
  for (const theme of ['light', 'dark']) {
    const { page, close } = await open({ viewport: { width, height: width > 600 ? 900 : 844 }, colorScheme: theme, locale: theme === 'light' ? 'en-US' : 'zh-CN' })
    const save = (what) => page.screenshot({ path: `${out}/${what}-${width}-${theme}.png`, fullPage: true })
    await page.goto(base + '/console/')
    await page.locator('.sign-in').waitFor()
    await save('sign-in')
    await page.evaluate(() => localStorage.setItem('holdfast.language', 'en')) // the steps below go by English names
    await signIn(page)
    if (!furnished) await furnish(page)
    furnished = true
    await useKey(page)
    await page.getByRole('button', { name: /long briefing/ }).click()
    await page.locator('.facts').first().waitFor()
    await ask(page, 'And when the harbour is closed?')
    await page.getByRole('button', { name: 'Send' }).waitFor()
    if (width > 600) await page.getByRole('switch', { name: 'Demo tool' }).check()
    if (width > 600) await ask(page, 'What time is it in Shanghai? RUNTOOL')
    const session = await page.getByTestId('session-id').textContent()
    if (theme === 'dark') await page.evaluate(() => localStorage.setItem('holdfast.language', 'zh'))
    await page.goto(`${base}/console/affinity?raw_session_id=${session}&key=demo`)
    await page.locator('.records').waitFor()
    await save('affinity')
    await install(page)
    await spending(page)
    for (const path of pages) {
      await page.goto(base + '/console/' + path)
      await page.locator('h1').waitFor()
      await page.locator('.loading').first().waitFor({ state: 'detached' })
      if (path === 'sessions' && width > 600) {
        await page.locator('.twist').nth(4).click()
        await page.locator('.detail .twist').first().click()
        await page.locator('.exchange').waitFor()
      }
      if (path.includes('changes')) await page.locator('.twist').nth(2).click()
      if (path.includes('revisions')) await page.locator('.revision-list button').nth(1).click()
      if (path.includes('explain')) await page.locator('form button[type=submit]').click()
      if (path.includes('usage')) await page.locator('.chart canvas').nth(3).waitFor()
      await page.evaluate(() => document.fonts.ready)
      await save(name(path))
    }
    await close()
  }
}
