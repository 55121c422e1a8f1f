// report runs named checks one after another in one browser and prints, as JSON,
// what came of each: the Go test that started this makes a subtest of every one.
import { mkdir } from 'node:fs/promises'
import { open } from './browser.mjs'

export async function report(checks, options) {
  const results = []
  const browser = await open(options)
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check(browser)
      results.push({ name, error: '' })
    } catch (error) {
      results.push({ name, error: String(error.stack ?? error).slice(0, 3000) + '\non the page:\n' + (await text(browser.page)) })
      if (process.env.HOLDFAST_PICTURES) {
        await mkdir(process.env.HOLDFAST_PICTURES, { recursive: true })
        await browser.page.screenshot({ path: `${process.env.HOLDFAST_PICTURES}/${name.replace(/\W+/g, '-')}.png` })
      }
    }
  }
  const { foreign, violations, errors } = browser.seen
  results.push({ name: 'no request leaves the console', error: foreign.join('\n') })
  results.push({ name: 'the policy is kept', error: violations.join('\n') })
  results.push({ name: 'no script fails', error: errors.join('\n') })
  await browser.close()
  console.log(JSON.stringify(results))
}

async function text(page) {
  try {
    return (await page.locator('main').innerText({ timeout: 1000 })).slice(0, 1500)
  } catch {
    return page.url()
  }
}
