import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'
import { linksOf, sectionsOf } from '../tools/markdown.ts'

const project = join(import.meta.dirname, '../..')
/** Folders that are made by installing, building or running. */
const MADE = new Set(['node_modules', 'dist', 'data', '.git'])

function filesBelow(folder: string, extension: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !MADE.has(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return filesBelow(path, extension)
      return entry.name.endsWith(extension) ? [path] : []
    })
}

const read = (path: string) => readFileSync(path, 'utf8')

/** @returns why a link leads nowhere; null when it leads somewhere. */
function problemOf(document: string, link: string): string | null {
  if (/^[a-z]+:/.test(link)) return null
  const [path = '', anchor] = decodeURI(link).split('#')
  const target = path === '' ? document : join(dirname(document), path)
  const where = `${relative(project, document)} -> ${link}`
  if (!existsSync(target)) return `${where}: no such file`
  if (anchor === undefined || !target.endsWith('.md')) return null
  return sectionsOf(read(target)).has(anchor) ? null : `${where}: no such heading`
}

it('every link of the documents leads to a file that there is, and to a heading of it', () => {
  const documents = filesBelow(project, '.md')
  const links = documents.flatMap((document) => linksOf(read(document)).map((link) => ({ document, link })))
  expect(links.length).toBeGreaterThan(100)
  expect(links.map(({ document, link }) => problemOf(document, link)).filter((problem) => problem !== null)).toEqual([])
})

it('a link that leads nowhere would be noticed', () => {
  const document = join(project, 'README.md')
  expect(problemOf(document, 'docker/README.md#nowhere')).toBe('README.md -> docker/README.md#nowhere: no such heading')
  expect(problemOf(document, 'docker/NOTHING.md')).toBe('README.md -> docker/NOTHING.md: no such file')
  expect(linksOf('`[a](b)` [c](d#e)\n```sh\n[f](g)\n```\n![h](i.png "j")\n')).toEqual(['d#e', 'i.png'])
})

it('messages of the program name documents and headings that there are', () => {
  const named = filesBelow(join(project, 'src'), '.ts').flatMap((file) => {
    const mentions = read(file).matchAll(/\b([\w/-]+\.md), "([^"]+)"/g)
    return [...mentions].map(([, document = '', heading = '']) => ({ document, heading }))
  })
  expect(named.length).toBeGreaterThan(2)
  for (const { document, heading } of named) expect(read(join(project, document)), heading).toMatch(new RegExp(`^#+ ${heading}$`, 'm'))
})
