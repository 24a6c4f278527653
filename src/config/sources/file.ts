import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Path } from '../schema/reading.ts'
import { field, isTree, keyOf, type Reading, readText, readValue, shownKey, type Tree, UNREADABLE } from '../schema/reading.ts'
import type { Environment } from './names.ts'
import { withPresets } from './presets.ts'
import { parseYaml } from './yaml.ts'

/** `broken`: the file couldn't be read, so missing settings aren't reported. */
export interface FileReading extends Reading {
  readonly broken: boolean
  /** The content of the file, with `REFERENCE` instead of each reference to a variable or file. */
  readonly written: Tree
  readonly variables: ReadonlySet<string>
}

const NO_FILE: FileReading = { tree: {}, problems: [], reported: new Set(), broken: false, written: {}, variables: new Set() }

/** @returns the name of a value for problems, such as `accounts[0].base_url in CONFIG_FILE`. */
export function nameInFile(path: Path): string {
  const text = path.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`)).join('')
  return text === '' ? 'CONFIG_FILE' : `${text} in CONFIG_FILE`
}

/**
 * Reads the YAML file in `CONFIG_FILE`, if it is set. A key without a value counts as missing. In texts:
 * - `${NAME}` is replaced by the value of the variable
 * - `${file:PATH}` is replaced by the content of the file; in a destination's `tls`, by the absolute path of the file.
 *   PATH is relative to the folder of the settings file.
 * - `$${` is replaced by `${`
 */
export function readConfigFile(env: Environment): FileReading {
  const path = env['CONFIG_FILE']?.trim()
  if (!path) return NO_FILE
  if (!existsSync(path))
    return unreadableFile(`CONFIG_FILE${IS_FILE_NAME.test(path) ? `=${path}` : ' names a file that'} does not exist. Check the path.`)
  const read = readText(path)
  if ('problem' in read) return unreadableFile(`CONFIG_FILE names a file ${read.problem}`)
  const parsed = parseYaml(read.text, 'CONFIG_FILE')
  if ('problems' in parsed) return unreadableFile(...parsed.problems)
  const preset = withPresets(parsed.tree)
  const expansion = new ReferenceExpander(env, dirname(resolve(path)), parsed.tree)
  const tree = expansion.expand(preset.tree, []) as Tree
  const problems = preset.problems.map(({ path: at, problem }) => `${nameInFile(at)} ${problem}`)
  const reported = new Set([...preset.problems.map(({ path: at }) => keyOf(at.slice(0, 2))), ...expansion.reported])
  const written = withoutReferences(preset.tree) as Tree
  return { tree, problems: [...problems, ...expansion.problems], reported, broken: false, written, variables: expansion.variables }
}

function unreadableFile(...problems: string[]): FileReading {
  return { ...NO_FILE, problems, broken: true }
}

/** Matches only names of YAML and JSON files. Any other text may be a misplaced secret, so it isn't shown. */
const IS_FILE_NAME = /^[\w./~-]+\.(?:ya?ml|json)$/i

/** Placeholder for a reference where only the text around the reference matters. */
export const REFERENCE = '\uE000'

/** End of the problem text for a reference to a variable that isn't set. */
export const UNSET = 'which is not set; set it'

/** Matches `$${`, and a reference, even without its closing brace. */
const REFERENCES = /\$\$\{|\$\{([^}]*)(\}?)/g

/** @returns a copy of `value` with `REFERENCE` instead of each reference. */
function withoutReferences(value: unknown): unknown {
  if (typeof value === 'string')
    return value.replace(REFERENCES, (match, name?: string) => (name === undefined ? match.slice(1) : REFERENCE))
  if (Array.isArray(value)) return value.map(withoutReferences)
  return isTree(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutReferences(item)])) : value
}

/** True for a setting that contains the path of a file. The program reads this file again whenever it changes. */
function isFollowed([first, , third]: Path): boolean {
  return first === 'destinations' && third === 'tls'
}

/** Replaces references by their values. This happens after parsing, so a value can't change the structure. */
class ReferenceExpander {
  readonly problems: string[] = []
  readonly reported = new Set<string>()
  readonly variables = new Set<string>()
  readonly #env: Environment
  readonly #folder: string
  readonly #original: Tree

  /** @param original the file without its presets. */
  constructor(env: Environment, folder: string, original: Tree) {
    this.#env = env
    this.#folder = folder
    this.#original = original
  }

  /**
   * @returns a copy of `value`, without keys that have no value. A text with an unresolved reference becomes
   * UNREADABLE.
   */
  expand(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return this.#text(value, path)
    if (Array.isArray(value)) return value.map((item, index) => this.expand(item, [...path, index]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, item]) => item !== null)
        .map(([key, item]) => [key, this.expand(item, [...path, key])]),
    )
  }

  #text(text: string, path: Path): string | null {
    const followed = isFollowed(path) ? /^\$\{file:([^}]+)\}$/.exec(text)?.[1] : undefined
    if (followed !== undefined) return resolve(this.#folder, followed)
    let isComplete = true
    const fail = (problem: string): string => {
      const isInFile = path.reduce<unknown>(field, this.#original) !== undefined
      this.problems.push(`${nameInFile(path.map(shownKey))}${isInFile ? '' : ', from its preset,'} ${problem}`)
      this.reported.add(keyOf(path))
      isComplete = false
      return ''
    }
    const expanded = text.replace(REFERENCES, (match, name: string | undefined, end: string | undefined) => {
      if (name === undefined) return match.slice(1)
      if (end === '') return fail(`has a $\{ without its closing brace; close it, or write $$\{ for a literal $\{`)
      return name.startsWith('file:') ? this.#file(name.slice(5), fail) : this.#variable(name, fail)
    })
    return isComplete ? expanded : UNREADABLE
  }

  #variable(name: string, fail: (problem: string) => string): string {
    if (!/^[A-Za-z_]\w*$/.test(name)) return fail(`has a reference that is neither $\{NAME} nor $\{file:PATH}; correct it`)
    this.variables.add(name)
    const value = Object.hasOwn(this.#env, name) ? this.#env[name] : undefined
    if (value !== undefined && value.trim() !== '') return value
    // Shows only names in capital letters, because any other name might be a misplaced secret.
    const shown = /^[A-Z]+(?:_[A-Z0-9]+)*$/.test(name) ? ` ${name}` : ''
    return fail(`refers to the variable${shown}, ${UNSET}`)
  }

  #file(path: string, fail: (problem: string) => string): string {
    const value = readValue(resolve(this.#folder, path))
    if ('text' in value) return value.text
    return fail(`refers to a file ${value.problem}`)
  }
}
