import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

// packed writes each text file's other codings beside it, so that the server
// compresses nothing while somebody waits.
function packed() {
  return {
    name: 'packed',
    apply: 'build' as const,
    async closeBundle() {
      for (const entry of await readdir('dist', { recursive: true, withFileTypes: true })) {
        if (!entry.isFile() || !/\.(html|js|css|svg)$/.test(entry.name)) continue
        const file = join(entry.parentPath, entry.name)
        const text = await readFile(file)
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: text.length }
        await writeFile(file + '.br', brotliCompressSync(text, { params }))
        await writeFile(file + '.gz', gzipSync(text, { level: 9 }))
      }
    },
  }
}

// themed puts public/theme.js before everything that draws. It is no module, which
// would come too late.
function themed() {
  return { name: 'themed', transformIndexHtml: () => [{ tag: 'script', attrs: { src: '/console/theme.js' }, injectTo: 'head' as const }] }
}

export default defineConfig({
  base: '/console/',
  plugins: [react(), themed(), packed()],
  // Nothing is put into the page itself: its policy allows files of its own
  // origin and no inline script or style.
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false, rolldownOptions: { checks: { pluginTimings: false } } },
  server: { proxy: { '^/(admin|v1|console/(session|caller))': 'http://127.0.0.1:8080' } },
  test: { environment: 'jsdom', setupFiles: ['src/test/setup.ts'], include: ['src/**/*.test.{ts,tsx}'], testTimeout: 30_000 },
})
