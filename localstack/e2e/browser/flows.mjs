// What people do in the console, from the playground to the log and back.
import assert from 'node:assert/strict'
import { adminKey, apiKey, ask, base, choose, facts, sessionId, signIn, useKey } from './browser.mjs'
import { report } from './report.mjs'

const say = 'Tell me about the harbour.'

// inLog opens the playground's conversation on the Sessions page and returns the
// rows there.
async function inLog(page) {
  await page.getByRole('link', { name: 'Show in Sessions' }).click()
  const table = page.getByRole('table', { name: 'Sessions', exact: true })
  await table.locator('.slot').first().waitFor()
  return table
}

const count = (table) => table.locator('.count').first().textContent()
const anew = (page) => page.getByRole('button', { name: 'New conversation' }).click()

async function playground(page) {
  await page.goto(base + '/console/playground')
  await page.getByText(/^Acts as/).waitFor()
}

await report({
  async 'sign in with the admin key'({ page, context }) {
    await signIn(page)
    const cookies = await context.cookies()
    assert.equal(cookies.length, 1)
    assert.equal(cookies[0].httpOnly, true)
    assert.equal(cookies[0].sameSite, 'Strict')
    assert.equal(await page.evaluate(() => document.cookie), '')
    assert.ok(!JSON.stringify(await context.storageState()).includes(adminKey))
  },

  async 'several turns with a tool, a refresh, and all of it in one group'({ page }) {
    await useKey(page)
    await choose(page, 'chat')
    const id = await sessionId(page)
    assert.match(id, /^[0-9a-f-]{36}$/)
    assert.equal((await ask(page, say)).Affinity, 'claimed')
    assert.equal((await ask(page, 'And then?')).Affinity, 'hit')
    await page.getByRole('switch', { name: 'Demo tool' }).check()
    const told = await ask(page, 'What time is it? RUNTOOL') // a call, its result, an answer
    assert.equal(told.Affinity, 'hit')
    assert.ok(await page.getByText('current_time returned').isVisible())
    await page.reload()
    await page.getByText(/^Acts as/).waitFor()
    assert.equal(await sessionId(page), id)
    assert.equal(await page.locator('.turn.user').count(), 3)
    assert.equal((await ask(page, 'Thank you')).Deployment, told.Deployment)
    const table = await inLog(page)
    assert.equal(await table.locator('.slot').count(), 1)
    assert.equal(await count(table), '5')
    await table.locator('.twist').first().click()
    const turns = page.getByRole('table', { name: 'Turns of this session' })
    await turns.locator('.slot').nth(4).waitFor()
    await turns.locator('.twist').first().click()
    await turns.getByText('explicit').waitFor()
  },

  async 'a cleared conversation with the same input is another group'({ page }) {
    await playground(page)
    await page.getByRole('switch', { name: 'Demo tool' }).uncheck()
    const before = await sessionId(page)
    await page.getByRole('button', { name: 'Clear' }).click()
    assert.notEqual(await sessionId(page), before)
    assert.equal(await page.locator('.turn').count(), 0)
    assert.equal((await ask(page, say)).Affinity, 'claimed')
    assert.equal(await count(await inLog(page)), '1')
  },

  async 'a full history without an id is one inferred group'({ page }) {
    await playground(page)
    await anew(page)
    await page.getByRole('switch', { name: 'Use my own session id' }).uncheck()
    const first = await ask(page, 'An opening that nobody else uses.')
    const id = await sessionId(page)
    const second = await ask(page, 'Go on.')
    assert.deepEqual([first.Session, second.Session, second.Affinity], ['inferred', 'inferred', 'hit'])
    assert.equal(await sessionId(page), id)
    const table = await inLog(page)
    assert.equal(await count(table), '2')
    assert.ok(await table.locator('.slot').first().getByText('inferred').isVisible())
    await playground(page)
    await page.getByRole('switch', { name: 'Use my own session id' }).check()
  },

  async 'another model and another endpoint stay in the group'({ page }) {
    await playground(page)
    await anew(page)
    for (const [model, endpoint] of [['chat', 'chat'], ['messages', 'messages'], ['responses', 'responses']]) {
      await choose(page, model, endpoint)
      const f = await ask(page, `With ${model}`)
      assert.match(f.Deployment, new RegExp(`^${model}-`))
    }
    const table = await inLog(page)
    assert.equal(await table.locator('.slot').count(), 1)
    assert.equal(await count(table), '3')
  },

  async 'an upstream that fails by the editor is left, and the next turn starts where it went'({ page }) {
    await playground(page)
    await anew(page)
    await choose(page, 'chat', 'chat')
    const home = (await ask(page, 'Before the trouble')).Deployment
    await page.goto(base + '/console/routing?tab=edit')
    await page.getByRole('radio', { name: 'Document' }).check()
    const editor = page.getByRole('textbox', { name: 'Document' })
    const document = JSON.parse(await editor.inputValue())
    const account = document.deployments.find((d) => d.id === home).connection
    document.connections.find((c) => c.id === account).base_url = 'http://127.0.0.1:9/v1'
    await editor.fill(JSON.stringify(document))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/^Saved as revision/).waitFor()
    await playground(page)
    const moved = await ask(page, 'In the trouble')
    assert.equal(moved.Affinity, 'moved')
    assert.notEqual(moved.Deployment, home)
    const next = await ask(page, 'After the trouble')
    assert.deepEqual([next.Affinity, next.Deployment], ['hit', moved.Deployment])
    const table = await inLog(page)
    await table.locator('.twist').first().click()
    const turns = page.getByRole('table', { name: 'Turns of this session' })
    await turns.locator('.slot', { hasText: 'moved' }).locator('.twist').click()
    await turns.getByText(`The preference for ${home}`).waitFor()
  },

  async 'usage tells what moved, is filtered by every chip and exported'({ page }) {
    await page.goto(base + '/console/usage?days=1')
    await page.getByText(/moved (once|\d+ times)/).first().waitFor()
    await page.getByRole('table', { name: 'Where it was used' }).getByRole('button', { name: /^chat-/ }).first().click()
    await page.waitForURL(/deployment=chat-/)
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Sessions as CSV' }).click()])
    const stream = await download.createReadStream()
    let csv = ''
    for await (const chunk of stream) csv += chunk
    assert.match(csv, /^session_id,user_path,requests,/)
    assert.match(csv, /\nscoped-[0-9a-f]{32},/)
  },

  async 'a revision is compared and restored'({ page }) {
    await page.goto(base + '/console/routing?tab=revisions')
    await page.locator('.revision-list button').nth(1).click()
    await page.locator('.diff .added').getByText('127.0.0.1:9').first().waitFor()
    await page.getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
    await page.getByText('Restored as a new revision.').waitFor()
    const document = await page.evaluate(async () => (await fetch('/admin/config')).text())
    assert.ok(!document.includes('127.0.0.1:9/'))
  },

  async 'the form shows what the server refuses'({ page }) {
    await page.goto(base + '/console/routing?tab=edit')
    await page.getByLabel('Preferences live').fill('soon')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').getByText('affinity.ttl').waitFor()
    assert.equal(await page.getByLabel('Preferences live').getAttribute('aria-invalid'), 'true')
    assert.match(await page.getByRole('alert').innerText(), /req_/)
  },

  async 'a draft is not lost unasked'({ page }) {
    await page.goto(base + '/console/routing?tab=edit')
    await page.getByLabel('Preferences live').fill('2h')
    await page.locator('.side nav').getByRole('link', { name: 'Keys' }).click() // it lasts while other pages are looked at
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor()
    const [asked] = await Promise.all([page.waitForEvent('dialog'), page.evaluate(() => { setTimeout(() => location.reload(), 0) })])
    assert.equal(asked.type(), 'beforeunload')
    await asked.dismiss()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('dialog', { name: 'Sign out and lose the draft?' }).getByRole('button', { name: 'Cancel' }).click()
    await page.locator('.side nav').getByRole('link', { name: 'Routing' }).click()
    await page.getByRole('radio', { name: 'Edit', exact: true }).check()
    assert.equal(await page.getByLabel('Preferences live').inputValue(), '2h')
    await page.getByRole('button', { name: 'Discard' }).click()
    const dialogs = []
    const note = (d) => { dialogs.push(d.type()); void d.accept() }
    page.on('dialog', note)
    await page.reload()
    await page.getByLabel('Preferences live').waitFor()
    page.off('dialog', note)
    assert.deepEqual(dialogs, [], 'nothing is lost any more')
  },

  async 'the audit trail tells who restored it'({ page }) {
    await page.goto(base + '/console/routing?tab=changes')
    const row = page.locator('.slot', { hasText: 'Configuration saved' }).first()
    await row.locator('.twist').click()
    await row.getByRole('link', { name: 'Compare the revisions' }).click()
    await page.locator('.revision-list button.on').waitFor()
    await page.locator('.diff .removed').getByText('127.0.0.1:9').first().waitFor()
  },

  async 'a deployment is drained, cooled and woken'({ page }) {
    await page.goto(base + '/console/routing')
    const row = page.locator('.slot', { hasText: 'chat-charlie' }).first()
    await row.getByRole('button', { name: /^Drain/ }).click()
    await row.getByText('drained', { exact: true }).waitFor()
    await row.getByRole('button', { name: /^Cool/ }).click()
    await row.getByText(/cooling until/).waitFor()
    await row.getByRole('button', { name: /^Wake/ }).click()
    await row.getByRole('button', { name: /^Undrain/ }).click()
    await row.getByText('serving').waitFor()
  },

  async 'a request is explained'({ page }) {
    await page.goto(base + '/console/routing?tab=explain')
    await page.getByLabel('Key id').fill('a')
    await page.getByLabel('Body (JSON)').fill('{"model":"chat","messages":[{"role":"user","content":"Hello"}]}')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText('There was no preference').waitFor()
    assert.equal(await page.locator('.why tbody tr').count(), 3)
  },

  async 'a session is looked up, pinned and cleared'({ page }) {
    await playground(page)
    await anew(page)
    const home = (await ask(page, 'Hold me')).Deployment
    const id = await sessionId(page)
    await page.goto(base + '/console/affinity')
    await page.getByRole('radio', { name: "Caller's own id" }).check()
    await page.getByLabel("caller's session id").fill(id)
    await page.getByLabel('Key id').fill('a')
    await page.getByRole('button', { name: 'Look up' }).click()
    const record = page.locator('.records li').first()
    await record.getByText(home).waitFor()
    await record.getByRole('button', { name: 'Pin' }).click()
    const dialog = page.getByRole('dialog')
    const offered = dialog.getByLabel('Deployment').locator('option')
    await offered.nth(1).waitFor({ state: 'attached' })
    const other = (await offered.allTextContents()).find((d) => d !== home)
    await dialog.getByLabel('Deployment').selectOption(other)
    await dialog.getByRole('button', { name: 'Pin' }).click()
    await record.getByText(other).waitFor()
    await playground(page)
    const pinned = await ask(page, 'Where am I?')
    assert.deepEqual([pinned.Affinity, pinned.Deployment], ['hit', other])
    await page.goto(base + `/console/affinity?raw_session_id=${id}&key=a`)
    await page.locator('.records').getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Clear' }).click()
    await page.getByText('This session has no preference').waitFor()
  },

  async 'a key is made, shown once, used, and disabled'({ page }) {
    await page.goto(base + '/console/keys')
    await page.getByRole('button', { name: 'Create a key' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Key', { exact: true }).fill('browser')
    await dialog.getByLabel('Budget, USD').fill('5')
    await dialog.getByRole('button', { name: 'Create a key' }).click()
    const secret = await page.getByTestId('secret').textContent()
    assert.match(secret, /^sk-hf-/)
    await page.getByRole('button', { name: 'Try it in the playground' }).click()
    await page.getByText('Acts as browser').waitFor()
    await anew(page)
    await ask(page, 'With the new key')
    await page.goto(base + '/console/keys')
    const row = page.locator('.slot', { hasText: 'browser' })
    await row.getByText(/\$0\.\d+ of \$5\.00/).waitFor()
    assert.ok(!(await page.content()).includes(secret))
    await Promise.all([page.waitForResponse((r) => r.request().method() === 'PATCH' && r.ok()), row.getByRole('switch').click()])
    await row.getByText('off').waitFor()
    await playground(page)
    await page.getByLabel('Message', { exact: true }).fill('Still there?')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('key_disabled').waitFor()
  },

  async 'signed out, nothing is open; an API key opens the playground alone'({ page }) {
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.locator('.sign-in').waitFor()
    assert.equal(await page.evaluate(async () => (await fetch('/admin/config')).status), 401)
    const left = await page.evaluate(() => JSON.stringify(sessionStorage))
    assert.ok(!left.includes('sk-') && !left.includes('Still there?'), `the tab still has ${left}`)
    await page.locator('input[name=key]').fill('sk-wrong')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('invalid_api_key').waitFor()
    await signIn(page, apiKey)
    await page.getByText(/^Acts as a,/).waitFor()
    assert.equal(await page.locator('.side nav a').count(), 1)
    assert.equal(await page.evaluate(async () => (await fetch('/admin/config')).status), 401)
    await page.goto(base + '/console/usage')
    await page.waitForURL(/playground/)
    await anew(page)
    await ask(page, 'I am no administrator')
    assert.ok((await facts(page)).Cost)
  },
})
