import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Builds the console into `dist/console`. The program serves it below `/console/`. */
export default defineConfig({
  base: '/console/',
  plugins: [react(), licenses(), compressed()],
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    // Never inline files. The content security policy forbids inline scripts and `data:` addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // During development with `npx vite src/console`, pass API calls to a running `serve`.
  server: { proxy: { '/api': { target: process.env['CONSOLE_API'] ?? 'http://127.0.0.1:8081' } } },
})

/** Writes the licenses of all bundled packages into one file. */
function licenses(): Plugin {
  return {
    name: 'licenses',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
      const fonts = Object.values(bundle).flatMap((asset) =>
        asset.type === 'asset' ? asset.originalFileNames.map((name) => resolve(import.meta.dirname, name)) : [],
      )
      const folders = new Set(
        [...modules, ...fonts].map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? '').filter(Boolean),
      )
      const source = [...folders].map(licenseOf).sort().join('\n')
      this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY-LICENSES.txt', source })
    },
  }
}

function licenseOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, string>
  const file = readdirSync(folder).find((each) => /^(?:licen[cs]e|copying)/i.test(each))
  const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim()
  return `${name} ${version} (${license})\n\n${text}\n`
}

/** Writes compressed copies of the files, so that `serve` needn't compress them. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        for (const [fileName, output] of Object.entries(bundle)) {
          if (!/\.(?:css|html|js|svg)$/.test(fileName)) continue
          const bytes = Buffer.from(output.type === 'chunk' ? output.code : output.source)
          const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } })
          this.emitFile({ type: 'asset', fileName: join(dirname(fileName), `${basename(fileName)}.br`), source: brotli })
          this.emitFile({
            type: 'asset',
            fileName: join(dirname(fileName), `${basename(fileName)}.gz`),
            source: gzipSync(bytes, { level: 9 }),
          })
        }
      },
    },
  }
}
