import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { alarmNames } from '../../src/ops/health/problems.ts'
import { runHere } from '../app/run.ts'

const documents = [
  'README.md',
  'config/README.md',
  'config/concepts.md',
  'config/destinations.md',
  'config/documents.md',
  'config/extra-reads.md',
  'config/retention.md',
  'config/templates.md',
  'config/systems/README.md',
  'config/systems/http.md',
  'config/systems/hubspot.md',
  'config/systems/power-automate.md',
  'config/promises.md',
  'docker/README.md',
  'docker/assistants.md',
  'docker/backups.md',
  'docker/commands.md',
  'docker/http-api.md',
  'docker/monitoring.md',
  'docker/postgres.md',
  'docker/reconcile.md',
  'docker/record.md',
  'docker/reverse-proxy.md',
  'docker/runbook.md',
  'docker/scale.md',
  'docker/security.md',
  'docker/tax-ids.md',
  'docker/warnings-data.md',
  'docker/warnings-service.md',
  'docker/without-docker.md',
  'migrations/README.md',
  'migrations/connect.md',
  'migrations/follow-changes.md',
  'migrations/queries.md',
  'migrations/queries-operations.md',
  'migrations/queries-submissions.md',
]

/** Commands in code of a document, as words. */
async function commandsIn(path: string): Promise<string[][]> {
  const text = await readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
  const mentions = text.matchAll(/submission-mirror ((?:[a-z]+|--[a-z-]+)\b[^`\n|;#)"]*)/g)
  return [...mentions].filter(({ index }) => isCode(text.slice(0, index))).map(([, words = '']) => words.trim().split(/\s+/))
}

/** Whether the text after `before` is code: in back quotes or a shell block. */
function isCode(before: string): boolean {
  const fences = [...before.matchAll(/^```(.*)$/gm)]
  const inBlock = fences.length % 2 === 1 && fences.at(-1)?.[1] === 'sh'
  const line = before.slice(before.lastIndexOf('\n') + 1)
  return inBlock || (line.match(/`/g)?.length ?? 0) % 2 === 1
}

const helps = new Map<string, string>()

async function helpOf(words: readonly string[]): Promise<string> {
  const key = words.join(' ')
  const known = helps.get(key)
  if (known !== undefined) return known
  const { code, out } = await runHere([...words, '--help'], {})
  // For an unknown command the answer lists the known ones.
  const help = code === 0 && out.startsWith(`Usage: submission-mirror ${key}`) ? out : ''
  helps.set(key, help)
  return help
}

it('every command in the documents exists, with its options', async () => {
  let found = 0
  for (const path of documents) {
    for (const words of await commandsIn(path)) {
      const plain = words.filter((word) => /^[a-z]+$/.test(word)).slice(0, 2)
      const [command = ''] = plain
      if (command === '') continue
      const top = await helpOf([command])
      expect(top, `${path}: ${words.join(' ')}`).not.toBe('')
      const sub = plain[1] !== undefined && words[1] === plain[1] && new RegExp(`^  ${plain[1]}\\b`, 'm').test(top) ? plain : [command]
      // The examples of a group are of its commands.
      const [help = ''] = (await helpOf(sub)).split(/^Examples:/m)
      for (const option of words.filter((word) => word.startsWith('--'))) expect(help, `${path}: ${words.join(' ')}`).toContain(option)
      found += 1
    }
  }
  expect(found).toBeGreaterThan(alarmNames.length)
})
