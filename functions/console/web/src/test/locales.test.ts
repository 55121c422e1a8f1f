import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { preferred } from '../app/i18n'
import en from '../locales/en.json'
import zh from '../locales/zh.json'

type Tree = { [key: string]: string | Tree }

function flat(tree: Tree, before = ''): Map<string, string> {
  const all = new Map<string, string>()
  for (const [key, value] of Object.entries(tree)) {
    if (typeof value === 'string') all.set(before + key, value)
    else for (const [k, v] of flat(value, before + key + '.')) all.set(k, v)
  }
  return all
}

// plain is a key without its plural form: languages differ in those.
const plain = (key: string) => key.replace(/_(one|other)$/, '')
const keys = (tree: Tree) => [...new Set([...flat(tree).keys()].map(plain))].sort()
const variables = (text: string) => [...new Set(text.match(/\{\{\w+\}\}/g) ?? [])].sort()

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((f) => f.isFile() && /\.tsx?$/.test(f.name) && !/\.test\./.test(f.name))
    .map((f) => readFileSync(join(f.parentPath, f.name), 'utf8'))
}

describe('the languages', () => {
  it('have the same keys', () => {
    expect(keys(zh)).toEqual(keys(en))
  })

  it('have the same variables in each text, and no empty one', () => {
    const english = flat(en)
    for (const [key, text] of flat(zh)) {
      const other = english.get(key) ?? english.get(plain(key) + '_other') ?? ''
      expect(variables(text), key).toEqual(variables(other))
      expect(text.trim(), key).not.toBe('')
    }
  })

  it('have every text that the pages ask for', () => {
    const known = new Set(keys(en))
    const asked = sources('src').flatMap((s) => [...s.matchAll(/\bt\((?:[^'`)]*\? )?'([a-zA-Z_.]+)'/g)].map((m) => m[1]!))
    expect(asked.length).toBeGreaterThan(150)
    expect(asked.filter((k) => !known.has(k))).toEqual([])
  })

  it('have Chinese where it is Chinese', () => {
    const latin = [...flat(zh)].filter(([, text]) => !/[\u4e00-\u9fff]/.test(text)).map(([key]) => key)
    // units, proper names and what is made of values alone
    expect(latin.sort()).toEqual(['charts.tokens', 'columns.tokens', 'detail.tokens', 'moved.fromTo', 'ui.shown', 'units.tok'])
  })

  it('follow the browser at first and what was chosen from then on', () => {
    expect(preferred(null, ['de-CH', 'zh-TW', 'en'])).toBe('zh')
    expect(preferred(null, ['en-GB', 'zh'])).toBe('en')
    expect(preferred(null, ['fr'])).toBe('en')
    expect(preferred('zh', ['en'])).toBe('zh')
    expect(preferred('xx', ['zh'])).toBe('zh')
  })
})
