import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const folder = join(import.meta.dirname, '../../dist/console')
const MOST_BYTES = 200 * 1024

it('the first load of the console is under 200 KB, and its licenses are included', async () => {
  const index = await readFile(join(folder, 'index.html'), 'utf8')
  const loaded = [...index.matchAll(/(?:src|href)="\/console\/([^"]+\.(?:js|css))"/g)].map(([, file = '']) => file)
  expect(loaded.some((file) => file.endsWith('.js'))).toBe(true)
  // Static imports of the first script are loaded with it.
  for (const file of loaded) {
    if (!file.endsWith('.js')) continue
    const text = await readFile(join(folder, file), 'utf8')
    for (const [, other = ''] of text.matchAll(/from"\.\/([^"]+\.js)"/g))
      if (!loaded.includes(`assets/${other}`)) loaded.push(`assets/${other}`)
  }
  const sizes = await Promise.all(['index.html', ...loaded].map(async (file) => (await stat(join(folder, `${file}.gz`))).size))
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(MOST_BYTES)
  expect(index).not.toMatch(/<style|<script>| style=/)
  const licenses = await readFile(join(folder, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
  for (const name of ['react-dom', '@tanstack/react-router', 'openapi-fetch']) expect(licenses).toContain(`\n${name} `)
})
