import type { z } from 'zod'
import { field, isTree, keyOf, type Path, shownKey, type Tree } from '../schema/reading.ts'
import type { EnvironmentReading } from './environment.ts'
import { type FileReading, nameInFile } from './file.ts'
import { settings } from './names.ts'

/** The settings of all sources together. */
export interface MergedSettings {
  readonly tree: Tree
  readonly problems: readonly string[]
  /** @returns one line for each issue that no source has reported already; it names the setting as the user set it. */
  problemsOf(issues: readonly z.core.$ZodIssue[]): string[]
}

/** Merges environment and file; the environment wins. Accounts come from one of the two, never from both. */
export function mergeReadings(environment: EnvironmentReading, file: FileReading): MergedSettings {
  const conflict = 'accounts' in file.tree && environment.accountVariables.length > 0
  const tree: Tree = { ...file.tree }
  for (const [key, value] of Object.entries(environment.tree)) {
    // Something else in place of a section stays in the tree, and the schema refuses it.
    if (key === 'accounts') tree[key] = file.tree[key] ?? value
    else if (isTree(value)) tree[key] = key in tree && !isTree(tree[key]) ? tree[key] : { ...(tree[key] as Tree | undefined), ...value }
    else tree[key] = value
  }
  const problems = [...file.problems, ...environment.problems]
  if (conflict) {
    const names = environment.accountVariables.join(', ')
    problems.push(`accounts in CONFIG_FILE and ${names} in the environment exclude each other; keep one of the two`)
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

/** @returns the name by which the user set, or would set, a value: a variable, or else its place in the settings file. */
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

/** Whether a value, or one above it, is among those that `reported` names. */
export function isReported(path: Path, reported: ReadonlySet<string>): boolean {
  return path.some((_, index) => reported.has(keyOf(path.slice(0, index + 1))))
}

/** Replaces `{a.b}` by the name of that setting. Braces without a dot stay as they are. */
function insertNames(message: string, nameOf: (path: Path) => string): string {
  return message.replace(/\{(\w+(?:\.\w+)+)\}/g, (_, key: string) =>
    nameOf(key.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))),
  )
}

/** @returns the path of an issue. */
export function pathOf(path: readonly PropertyKey[]): Path {
  return path.map((part) => (typeof part === 'symbol' ? String(part) : part))
}
