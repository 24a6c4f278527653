/** One instruction of a Dockerfile: its name in capitals, its `--flags`, and the rest. */
export interface Step {
  readonly name: string
  readonly flags: Readonly<Record<string, string>>
  readonly rest: string
}

/** A stage: from one FROM to the next. */
export interface Stage {
  readonly name: string
  readonly base: string
  readonly steps: readonly Step[]
}

/**
 * Parses a Dockerfile as far as this project's goes: continued lines, comments, stages, `--flag=value`.
 * @throws Error if an instruction precedes the first FROM.
 */
export function parseDockerfile(text: string): Stage[] {
  const stages: { name: string; base: string; steps: Step[] }[] = []
  for (const line of logicalLines(text)) {
    const step = parseStep(line)
    if (step.name === 'FROM') {
      const [base = '', , name = ''] = step.rest.split(/\s+/)
      stages.push({ name: name || String(stages.length), base, steps: [] })
      continue
    }
    const stage = stages.at(-1)
    if (stage === undefined) throw new Error(`${step.name} is before the first FROM`)
    stage.steps.push(step)
  }
  return stages
}

function logicalLines(text: string): string[] {
  const kept = text.split('\n').filter((line) => !/^\s*#/.test(line))
  return kept
    .join('\n')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

function parseStep(line: string): Step {
  const flags: Record<string, string> = {}
  const [, name = '', tail = ''] = /^(\S+)\s*(.*)$/.exec(line) ?? []
  let rest = tail
  for (let match = /^--([\w-]+)(?:=(\S+))?\s+/.exec(rest); match; match = /^--([\w-]+)(?:=(\S+))?\s+/.exec(rest)) {
    flags[match[1] ?? ''] = match[2] ?? ''
    rest = rest.slice(match[0].length)
  }
  return { name: name.toUpperCase(), flags, rest }
}

export function execForm(rest: string): string[] {
  return JSON.parse(rest) as string[]
}

export function pairs(rest: string): Record<string, string> {
  const found = [...rest.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g)]
  return Object.fromEntries(found.map(([, key, quoted, bare]) => [key, quoted ?? bare ?? '']))
}

/**
 * Parses a .dockerignore: the last pattern that matches a path or a parent folder decides.
 * @returns whether the builder gets a file, or anything in a folder (path from the project's root).
 */
export function contextFilter(text: string): (path: string) => boolean {
  const patterns = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ keep: line.startsWith('!'), pattern: line.replace(/^!/, ''), test: globTest(line.replace(/^!/, '')) }))
  return (path) => {
    if (patterns.some(({ keep, pattern }) => keep && pattern.startsWith(`${path}/`))) return true
    const parents = path.split('/').map((_part, index, parts) => parts.slice(0, index + 1).join('/'))
    return patterns.findLast(({ test }) => parents.some(test))?.keep ?? true
  }
}

function globTest(pattern: string): (path: string) => boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*\*|\*|\?/g, (mark) => ({ '**': '.*', '*': '[^/]*', '?': '[^/]' })[mark] ?? '')
  const expression = new RegExp(`^${source}$`)
  return (path) => expression.test(path)
}
