// What every flow needs: a browser with a fresh profile, watched for requests
// that leave the console, and the few steps that flows share.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

export const base = process.env.HOLDFAST_URL
export const adminKey = process.env.HOLDFAST_ADMIN_KEY
export const apiKey = process.env.HOLDFAST_KEY
const limit = 20_000 // of every wait, in milliseconds

// open starts a browser; close ends it with its profile.
export async function open(options = {}) {
  const profile = await mkdtemp(join(tmpdir(), 'holdfast-browser-'))
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run', '--no-default-browser-check'],
    viewport: { width: 1280, height: 900 },
    locale: 'en-US',
    ...options,
  })
  context.setDefaultTimeout(limit)
  const page = context.pages()[0] ?? await context.newPage()
  const seen = { foreign: [], violations: [], errors: [] }
  const own = new URL(base).origin
  context.on('request', (r) => {
    const at = new URL(r.url())
    if (at.protocol.startsWith('http') && at.origin !== own) seen.foreign.push(r.url())
  })
  page.on('console', (m) => {
    if (/Content Security Policy/i.test(m.text())) seen.violations.push(m.text())
  })
  page.on('pageerror', (e) => seen.errors.push(String(e)))
  return { page, context, seen, close: async () => { await context.close(); await rm(profile, { recursive: true, force: true }) } }
}

// signIn opens the console with a key.
export async function signIn(page, key = adminKey) {
  await page.goto(base + '/console/')
  await page.locator('input[name=key]').fill(key)
  await page.locator('form.sign-in button[type=submit]').click()
  await page.locator('.shell').waitFor()
}

// useKey gives the playground its API key.
export async function useKey(page, key = apiKey) {
  await page.goto(base + '/console/playground')
  const field = page.getByLabel('Key to act with')
  await field.fill(key)
  await page.getByRole('button', { name: 'Use this key' }).click()
  await page.getByText(/^Acts as/).waitFor()
}

// ask sends a message and waits for the whole answer, tool round trips
// included. It returns the facts under the last answer.
export async function ask(page, text) {
  const before = await page.locator('.turn.assistant .facts').count()
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.locator('.turn.assistant .facts').nth(before).waitFor()
  await page.getByRole('button', { name: 'Send' }).waitFor()
  return facts(page)
}

export async function facts(page) {
  const last = page.locator('.turn.assistant').last().locator('.facts > div')
  return Object.fromEntries(await last.evaluateAll((all) => all.map((d) => [d.querySelector('dt').textContent, d.querySelector('dd').textContent])))
}

export const sessionId = (page) => page.getByTestId('session-id').textContent()

// choose sets the model, and the endpoint where one is named.
export async function choose(page, model, endpoint) {
  await page.getByLabel('Model or group').selectOption(model)
  if (endpoint) await page.getByRole('radio', { name: endpoint, exact: true }).check()
}
