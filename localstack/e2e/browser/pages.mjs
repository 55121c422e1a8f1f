// Every page, in both languages: what is there for everybody, whatever they see,
// hear or press, and what it takes to load.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { adminKey, apiKey, ask, base, signIn, useKey } from './browser.mjs'
import { report } from './report.mjs'
import { install } from './scene.mjs'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const pages = ['playground', 'sessions', 'usage', 'routing', 'routing?tab=edit', 'routing?tab=explain', 'routing?tab=revisions', 'routing?tab=changes', 'keys', 'affinity']
const maxTransfer = 300_000 // bytes, compressed, of all that the console loads

// look runs axe on the page as it stands and fails on what is serious.
async function look(page, where) {
  // Evaluated by the debugger, as the page's own policy allows no such script.
  await page.evaluate(axe)
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  const serious = found.violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
  assert.deepEqual(serious.map((v) => `${where}: ${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).slice(0, 3).join(' | ')}`), [])
}

async function settled(page) {
  await page.locator('h1').waitFor()
  await page.locator('.loading').first().waitFor({ state: 'detached' })
}

// outside lists what no one can see at this width: beyond the page's edges, or
// cut off where nothing scrolls.
async function outside(page) {
  return page.evaluate(() => {
    const width = document.documentElement.clientWidth
    const found = document.documentElement.scrollWidth > width ? [`the page scrolls by ${document.documentElement.scrollWidth - width}`] : []
    const reached = (e) => { // by scrolling something sideways
      for (let p = e.parentElement; p; p = p.parentElement) if (/auto|scroll/.test(getComputedStyle(p).overflowX)) return true
      return false
    }
    for (const e of document.querySelectorAll('body *')) {
      const box = e.getBoundingClientRect()
      const style = getComputedStyle(e)
      if (box.width < 2 || box.height < 2 || style.visibility === 'hidden' || e.closest('.hidden, .skip, svg *')) continue
      const name = `${e.tagName} .${e.getAttribute('class')} ${e.textContent.slice(0, 30)}`
      if ((box.right > width + 1 || box.left < -1) && !reached(e)) found.push(`${name} from ${box.left} to ${box.right}`)
      const cut = /hidden|clip/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1
      if (cut && e.tagName !== 'INPUT' && !e.title) found.push(`${name} cut at ${e.clientWidth} of ${e.scrollWidth}`)
    }
    return found
  })
}

// speak waits for the other language's texts: they are loaded when they are
// asked for.
async function speak(page, language) {
  await page.getByRole('radio', { name: language }).click()
  await page.locator(`html[lang=${language === 'English' ? 'en' : 'zh-Hans'}]`).waitFor()
}

await report({
  async 'nothing serious for axe before signing in'({ page }) {
    for (const language of ['English', '中文']) {
      await page.goto(base + '/console/')
      await page.locator('.sign-in').waitFor()
      await speak(page, language)
      await look(page, `sign-in, ${language}`)
    }
    await speak(page, 'English')
  },

  async 'the language of the browser at first, the chosen one from then on'({ page, context }) {
    await page.evaluate(() => localStorage.clear())
    await context.addInitScript(() => Object.defineProperty(navigator, 'languages', { get: () => ['zh-CN', 'en'] }))
    await page.goto(base + '/console/')
    await page.getByRole('heading', { name: '登录' }).waitFor()
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-Hans')
    await speak(page, 'English')
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  },

  async 'all is loaded within its budget, without a cache'({ page, context }) {
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    await session.send('Network.setCacheDisabled', { cacheDisabled: true })
    const kept = new Map()
    let encoded = 0
    session.on('Network.responseReceived', (e) => {
      if (/\/console\/(assets\/|$)/.test(new URL(e.response.url).pathname)) kept.set(e.requestId, e.response.headers)
    })
    session.on('Network.loadingFinished', (e) => { if (kept.has(e.requestId)) encoded += e.encodedDataLength })
    await page.goto(base + '/console/')
    await page.locator('input[name=key]').fill(adminKey)
    await page.keyboard.press('Enter')
    await page.locator('.shell').waitFor()
    for (const name of ['Sessions', 'Usage', 'Routing', 'Keys', 'Affinity']) {
      await page.locator('.side nav').getByRole('link', { name }).click()
      await settled(page)
    }
    await speak(page, '中文')
    await page.locator('.side nav').getByRole('link', { name: '密钥' }).waitFor()
    await speak(page, 'English')
    assert.ok(kept.size > 8, `${kept.size} files`)
    assert.ok(encoded > 50_000 && encoded < maxTransfer, `${encoded} bytes`)
    for (const h of kept.values()) {
      const headers = Object.fromEntries(Object.entries(h).map(([k, v]) => [k.toLowerCase(), v]))
      const policy = headers['content-security-policy'] ?? ''
      assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';/)
      assert.doesNotMatch(policy, /unsafe/)
    }
    await session.detach()
  },

  async 'the first paint needs the page, its styles and its theme alone'({ page, context }) {
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    await session.send('Network.setCacheDisabled', { cacheDisabled: true })
    await page.route(/\/console\/assets\/.*\.js$/, (r) => r.abort()) // not one script of the application
    await page.goto(base + '/console/usage')
    await page.getByText('Holdfast', { exact: true }).waitFor()
    assert.ok(await page.evaluate(() => document.documentElement.dataset.theme))
    await page.unrouteAll()
    await page.goto(base + '/console/usage')
    await page.locator('h1').waitFor()
    const all = await page.evaluate(() => performance.getEntriesByType('resource').filter((r) => r.name.includes('/console/')).map((r) => ({ name: r.name, blocks: r.renderBlockingStatus === 'blocking', bytes: r.encodedBodySize })))
    const bytes = (of) => of.reduce((sum, r) => sum + r.bytes, 0)
    const blocking = all.filter((r) => r.blocks)
    assert.deepEqual(blocking.map((r) => r.name.replace(/.*\/console\//, '').replace(/-.*(\.\w+)$/, '$1')).sort(), ['assets/index.css', 'theme.js'])
    assert.ok(bytes(blocking) > 1000 && bytes(blocking) < 12_000, `${bytes(blocking)} bytes before the first paint`)
    assert.ok(all.length < 30 && bytes(all) < 180_000, `${all.length} files of ${bytes(all)} bytes for a page`)
    assert.equal(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint').length), 1)
    await session.detach()
  },

  async 'whose sign-in has ended signs in again, and is where they were'({ page, context }) {
    await page.goto(base + '/console/routing')
    await page.getByRole('table', { name: 'Deployments' }).waitFor()
    await context.clearCookies()
    await page.locator('input[name=key]').waitFor() // the live state is asked for again by itself
    await page.locator('input[name=key]').fill(adminKey)
    await page.keyboard.press('Enter')
    await page.getByRole('table', { name: 'Deployments' }).waitFor()
    assert.match(page.url(), /\/console\/routing$/)
  },

  async 'every table says when it is empty and what to do'({ page }) {
    for (const [path, text] of [['sessions', 'No session in this span'], ['usage', 'Nothing was used in this span'], ['keys', 'No key has been created here'], ['keys', 'No organization and no team has a budget'], ['routing?tab=changes', 'Nothing was changed yet'], ['affinity', 'No session chosen']]) {
      await page.goto(base + '/console/' + path)
      await page.getByText(text).waitFor()
    }
  },

  async 'nothing serious for axe on every page in both languages and themes'({ page }) {
    await useKey(page)
    await page.getByRole('button', { name: /long briefing/ }).click()
    await page.locator('.facts').first().waitFor()
    await ask(page, 'And then?')
    for (const language of ['English', '中文']) {
      for (const theme of [1, 2]) {
        await speak(page, language)
        await page.locator('.preferences .segmented').nth(1).getByRole('radio').nth(theme).check()
        for (const path of pages) {
          await page.goto(base + '/console/' + path)
          await settled(page)
          const twist = page.locator('.twist').first()
          if (path === 'sessions') {
            await twist.click()
            await page.locator('.detail .twist').first().click()
            await page.locator('.exchange').waitFor()
          }
          await look(page, `${path}, ${language}, theme ${theme}`)
        }
      }
    }
    await speak(page, 'English')
    await page.goto(base + '/console/keys')
    await page.getByRole('button', { name: 'Create a key' }).first().click()
    await look(page, 'a dialog')
    await page.keyboard.press('Escape')
    assert.equal(await page.getByRole('dialog').count(), 0)
  },

  async 'what callers send is shown as text, whatever it says'({ page, context }) {
    const hostile = '<img src=x onerror="window.hit=1">'
    const dialogs = []
    page.on('dialog', (d) => { dialogs.push(d.message()); void d.dismiss() })
    const send = (body, headers = {}) => context.request.post(base + '/v1/chat/completions', {
      headers: { Authorization: `Bearer ${apiKey}`, 'X-Session-Id': hostile, 'X-Holdfast-Label': hostile, ...headers }, data: body,
    })
    const answered = await send({ model: 'chat', messages: [{ role: 'user', content: hostile }] })
    assert.equal(answered.status(), 200)
    await send({ model: hostile, messages: [{ role: 'user', content: hostile }] })
    await page.evaluate(async (user) => fetch('/admin/keys', { method: 'POST', body: JSON.stringify({ id: 'hostile', user }) }), hostile)
    const clean = async (path) => {
      assert.deepEqual([await page.evaluate(() => window.hit), await page.locator('main img').count(), dialogs], [undefined, 0, []], path)
    }
    await page.goto(base + '/console/keys')
    await page.getByText(hostile, { exact: false }).first().waitFor()
    await clean('keys')
    await page.goto(base + '/console/routing?tab=changes')
    await page.locator('.twist').first().click()
    await page.locator('.diff').getByText('onerror', { exact: false }).first().waitFor()
    await clean('changes')
    await page.goto(base + '/console/sessions?' + new URLSearchParams({ label: hostile }))
    await page.locator('.chip').getByText(hostile).waitFor()
    await page.locator('.twist').first().click()
    await page.locator('.detail .twist').first().click()
    await page.locator('.exchange').getByText(hostile).waitFor()
    await clean('sessions')
    await page.route('**/v1/chat/completions', (r) => r.fulfill({ status: 502, contentType: 'application/json', body: JSON.stringify({ error: { message: hostile, code: hostile } }) }))
    await page.goto(base + '/console/playground') // with the key that the tab holds
    await page.getByText(/^Acts as/).waitFor()
    await page.getByLabel('Message', { exact: true }).fill(hostile)
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText(hostile).first().waitFor()
    await clean('playground')
    await page.unrouteAll()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.evaluate(async () => fetch('/admin/keys/hostile', { method: 'DELETE' }))
  },

  async 'a failed call shows the message and the request id, and can be tried again'({ page }) {
    const refused = { status: 503, headers: { 'X-Request-Id': 'req_TEST', 'X-Holdfast-Error': 'configuration_unavailable' }, contentType: 'application/json', body: '{"error":{"message":"The ledger cannot be read now."}}' }
    for (const [path, route] of [['sessions', '/admin/audit/sessions'], ['usage', '/admin/usage/summary'], ['routing', '/admin/config'], ['keys', '/admin/keys'], ['keys', '/admin/budgets'], ['routing?tab=changes', '/admin/audit/changes'], ['affinity?session_id=scoped-0', '/admin/affinity']]) {
      let fails = true
      await page.route((u) => u.pathname === route, (r) => (fails ? r.fulfill(refused) : r.continue()))
      await page.goto(base + '/console/' + path)
      const alert = page.getByRole('alert').first()
      await alert.getByText('The ledger cannot be read now.').waitFor()
      await alert.getByText('req_TEST').waitFor()
      await look(page, `${path} failing`)
      fails = false
      if (path !== 'affinity?session_id=scoped-0') {
        await alert.getByRole('button', { name: 'Try again' }).click()
        await alert.waitFor({ state: 'detached' })
      }
      await page.unroute((u) => u.pathname === route)
      await page.unrouteAll()
    }
  },

  async 'everything is within reach of the keyboard'({ page }) {
    await page.goto(base + '/console/sessions')
    await page.locator('.twist').first().waitFor()
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip')
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement.id), 'main')
    for (let i = 0; i < 30 && (await page.evaluate(() => document.activeElement.className)) !== 'twist'; i++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByRole('table', { name: 'Turns of this session' }).waitFor()
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-expanded')), 'true')
  },

  async 'ten thousand sessions and five hundred turns stay few rows'({ page }) {
    const asked = await install(page, { sessions: 10_000, turns: 500 })
    await page.goto(base + '/console/sessions')
    const table = page.getByRole('table', { name: 'Sessions', exact: true })
    await table.locator('.slot').first().waitFor()
    assert.equal(await table.getAttribute('aria-rowcount'), '10001')
    const scroller = table
    let most = 0
    for (let i = 0; i < 400 && (asked['/admin/audit/sessions'] ?? 0) < 100; i++) {
      await scroller.evaluate((e) => { e.scrollTop = e.scrollHeight })
      most = Math.max(most, await table.locator('.slot').count())
      await page.waitForTimeout(20)
    }
    assert.equal(asked['/admin/audit/sessions'], 100, 'pages of 100')
    await page.getByText('10,000 of 10000').or(page.getByText('10000 of 10000')).first().waitFor()
    assert.ok(most > 5 && most < 80, `${most} rows in the page`)
    await scroller.evaluate((e) => { e.scrollTop = 0 })
    await table.locator('[data-index="0"] .twist').click()
    const turns = page.getByRole('table', { name: 'Turns of this session' })
    const inner = turns
    await inner.waitFor()
    for (let i = 0; i < 200 && (await turns.locator('.slot[data-index="499"]').count()) === 0; i++) {
      await inner.evaluate((e) => { e.scrollTop = e.scrollHeight })
      await page.waitForTimeout(20)
    }
    assert.equal(await turns.locator('.slot[data-index="499"]').count(), 1)
    assert.ok((await turns.locator('.slot').count()) < 60)
    // Frames keep coming while it scrolls: none waits for all the rows.
    const frames = await scroller.evaluate((e) => new Promise((done) => {
      let n = 0
      const step = () => { e.scrollTop += 120; if (++n < 60) requestAnimationFrame(step); else done(n) }
      requestAnimationFrame(step)
    }))
    assert.equal(frames, 60)
    await page.unrouteAll()
  },

  async 'a small phone shows all of it without scrolling sideways'({ page }) {
    await install(page)
    await page.evaluate(async () => fetch('/admin/keys', { method: 'POST', body: JSON.stringify({ id: 'a-rather-long-identifier-of-a-key', user: 'somebody.with.a.long.name', models: ['chat', 'responses'], limits: { rpm: 600, tpm: 2_000_000 }, budget: { usd: 1000, period: 'monthly' } }) }))
    await page.setViewportSize({ width: 360, height: 740 })
    const whole = async (where) => assert.deepEqual(await outside(page), [], where)
    for (const language of ['English', '中文']) {
      await page.goto(base + '/console/playground')
      await speak(page, language)
      for (const path of pages) {
        await page.goto(base + '/console/' + path)
        await settled(page)
        if (path === 'sessions') {
          await page.locator('.twist').first().click()
          await page.locator('.detail .twist').first().click()
          await page.locator('.exchange').waitFor()
        }
        await whole(`${path}, ${language}`)
      }
    }
    await speak(page, 'English')
    await page.goto(base + '/console/keys')
    await page.getByRole('button', { name: 'Create a key' }).first().click()
    await whole('a dialog')
    await page.keyboard.press('Escape')
    await page.evaluate(async () => fetch('/admin/keys/a-rather-long-identifier-of-a-key', { method: 'DELETE' }))
    await page.unrouteAll()
  },

  async 'a conversation of five hundred messages stays quick'({ page }) {
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(base + '/console/playground') // with the key that the tab holds
    await page.getByText(/^Acts as/).waitFor()
    await page.evaluate(() => {
      const kept = JSON.parse(sessionStorage.getItem('holdfast.conversation'))
      const words = 'The harbour keeps its boats behind the mole while the wind is up. '
      const facts = { deployment: 'chat-alpha', affinity: 'hit', source: 'explicit', attempts: '1', firstByteMs: 20, tokens: { fresh: 10, cached: 2000, written: 0, written1h: 0, output: 20 }, cache: '', dropped: '' }
      kept.messages = Array.from({ length: 500 }, (_, i) => (i % 2 ? { role: 'assistant', text: words.repeat(12), calls: [], facts } : { role: 'user', text: `${i}: ${words}` }))
      sessionStorage.setItem('holdfast.conversation', JSON.stringify(kept))
    })
    await page.reload()
    await page.getByText(/^Acts as/).waitFor()
    assert.equal(await page.locator('.turn').count(), 500)
    await page.evaluate(() => { // what is drawn again of the turns that stand there
      window.drawn = 0
      const standing = document.querySelectorAll('.turn')[498].parentElement
      new MutationObserver((all) => { window.drawn += all.filter((m) => m.target.closest?.('.turn') && [...standing.querySelectorAll('.turn')].indexOf(m.target.closest('.turn')) < 500).length }).observe(standing, { subtree: true, childList: true, characterData: true, attributes: true })
    })
    await ask(page, 'And now?')
    assert.equal(await page.evaluate(() => window.drawn), 0, 'turns before the last were drawn again')
    assert.equal(await page.locator('.turn').count(), 502)
    const last = page.locator('.turn.assistant').last()
    assert.ok(await last.evaluate((e) => e.getBoundingClientRect().top < window.innerHeight), 'the answer is in sight')
    await page.getByRole('button', { name: 'Clear' }).click()
  },
})
