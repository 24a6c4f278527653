import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

const TESTS = join(import.meta.dirname, '..')
const README = join(TESTS, 'README.md')
/** `trap 07: …`, or `trap 07, trap 08: …`. */
const TITLE = /(['"`])(trap \d\d(?:, trap \d\d)*): ((?:\\.|(?!\1).)*)\1/g

export interface TrapTest {
  readonly trap: number
  readonly title: string
  readonly file: string
}

const TRAPS = 82

export const allTraps: readonly number[] = Array.from({ length: TRAPS }, (_, index) => index + 1)

export function testFiles(): string[] {
  const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
  return files.filter((file) => file.endsWith('.test.ts')).sort()
}

export function trapTests(): TrapTest[] {
  return testFiles().flatMap((file) =>
    [...readFileSync(join(TESTS, file), 'utf8').matchAll(TITLE)].flatMap(([, , numbers = '', title = '']) =>
      [...numbers.matchAll(/\d\d/g)].map(([number]) => ({ trap: Number(number), title: title.replaceAll('\\', ''), file })),
    ),
  )
}

export function trapTable(tests: readonly TrapTest[]): string {
  const cells = allTraps.map((trap) => {
    const files = new Set(tests.filter((test) => test.trap === trap).map(({ file }) => `\`${file.replace('.test.ts', '')}\``))
    return `| ${String(trap).padStart(2, '0')} | ${[...files].join(', ')} `
  })
  const half = Math.ceil(cells.length / 2)
  const rows = cells.slice(0, half).map((cell, index) => `${cell}${cells[index + half] ?? '| | '}|`)
  return ['| trap | files | trap | files |', '|---|---|---|---|', ...rows].join('\n')
}

export function readmeWithTable(readme: string, table: string): string {
  return readme.replace(/<!-- traps -->[\s\S]*<!-- end of traps -->/, () => `<!-- traps -->\n${table}\n<!-- end of traps -->`)
}

// `node test/tools/traps.ts` writes the table.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(README, readmeWithTable(readFileSync(README, 'utf8'), trapTable(trapTests())))
  console.log(`wrote ${relative(process.cwd(), README)}`)
}
