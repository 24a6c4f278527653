import type { z } from 'zod'
import { field, isTree, keyOf, type Path, shownKey, type Tree } from '../schema/reading.ts'
import type { EnvironmentReading } from './environment.ts'
import { type FileReading, nameInFile } from './file.ts'
import { settings } from './names.ts'

export interface MergedSettings {
  readonly tree: Tree
  readonly problems: readonly string[]
  /**
   * @returns one line for each issue that isn't in `problems` yet. Each line starts with the setting's name as the
   * user set it.
   */
  problemsOf(issues: readonly z.core.$ZodIssue[]): string[]
}

/**
 * Merges the environment and the file. The environment takes precedence. If both contain accounts, reports a problem.
 */
export function mergeReadings(environment: EnvironmentReading, file: FileReading): MergedSettings {
  const conflict = 'accounts' in file.tree && environment.accountVariables.length > 0
  const tree: Tree = { ...file.tree }
  for (const [key, value] of Object.entries(environment.tree)) {
    // If the environment and the file both contain accounts, the file's accounts stay, and the conflict is reported
    // below. If the file has a single value instead of a section, this value also stays, and the schema rejects it.
    if (key === 'accounts') tree[key] = file.tree[key] ?? value
    else if (isTree(value)) tree[key] = key in tree && !isTree(tree[key]) ? tree[key] : { ...(tree[key] as Tree | undefined), ...value }
    else tree[key] = value
  }
  const problems = [...file.problems, ...environment.problems]
  if (conflict) {
    const names = environment.accountVariables.join(', ')
    problems.push(`accounts in CONFIG_FILE and ${names} in the environment are both set; keep one`)
  }
  const reported = new Set([...file.reported, ...environment.reported])
  const nameOf = (path: Path): string => nameOfSetting(path, environment.variables, file)
  return {
    tree,
    problems,
    problemsOf: (issues) =>
      issues
        .filter((issue) => !isReported(pathOf(issue.path), reported))
        .flatMap((issue) => issue.message.split('\n').map((line) => `${nameOf(pathOf(issue.path))} ${insertNames(line, nameOf)}`)),
  }
}

/** @returns the name by which the user sets a value: a variable, or its path in the settings file. */
function nameOfSetting(path: Path, variables: ReadonlyMap<string, string>, file: FileReading): string {
  const accountOfFile = path[0] === 'accounts' && 'accounts' in file.tree
  for (let length = accountOfFile ? 0 : path.length; length > 0; length -= 1) {
    const start = path.slice(0, length)
    const isInFile = start.reduce<unknown>(field, file.tree) !== undefined
    const variable = variables.get(keyOf(start)) ?? (isInFile ? undefined : variableFor(start))
    if (variable === undefined) continue
    const position = path.slice(length).find((part) => typeof part === 'number')
    return position === undefined ? variable : `${variable} (number ${position + 1})`
  }
  return nameInFile(path.map(shownKey))
}

function variableFor(path: Path): string | undefined {
  return settings.find((setting) => keyOf(setting.path) === keyOf(path))?.env
}

/** True if `reported` contains the value or one of its parents. */
function isReported(path: Path, reported: ReadonlySet<string>): boolean {
  return path.some((_, index) => reported.has(keyOf(path.slice(0, index + 1))))
}

/** Replaces `{a.b}` by the name of that setting. Braces without a dot don't change. */
function insertNames(message: string, nameOf: (path: Path) => string): string {
  return message.replace(/\{(\w+(?:\.\w+)+)\}/g, (_, key: string) =>
    nameOf(key.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))),
  )
}

function pathOf(path: readonly PropertyKey[]): Path {
  return path.map((part) => (typeof part === 'symbol' ? String(part) : part))
}
