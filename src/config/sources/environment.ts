import { type Setting, settings, unknownVariables } from './names.ts'
import { keyOf, type Reading, readValue, type Tree, UNREADABLE } from './reading.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface EnvironmentReading extends Reading {
  /** The variable that each value came from, by the key of its path. */
  readonly variables: ReadonlyMap<string, string>
  /** The variables that describe an account. */
  readonly accountVariables: readonly string[]
}

/**
 * Reads every setting that stands in the environment, by itself or in the file that `NAME_FILE` names. A variable with nothing in
 * it counts as not set: that is how compose files hand on what nobody has set.
 * @param referred the variables that the settings file refers to, whose names are its own affair.
 * @returns a tree that holds one account when a variable of an account is set.
 */
export function readEnvironment(env: Environment, referred: ReadonlySet<string>): EnvironmentReading {
  const tree: Tree = {}
  const problems = unknownVariables(env, referred)
  const reported = new Set<string>()
  const variables = new Map<string, string>()
  for (const setting of settings) {
    const found = find(env, setting)
    if (found === null) continue
    const key = keyOf(setting.path)
    variables.set(key, found.variable)
    if ('problem' in found) {
      problems.push(found.problem)
      reported.add(key)
    }
    put(tree, setting, 'text' in found ? found.text : UNREADABLE)
  }
  const accountVariables = [...variables].filter(([key]) => key.startsWith('accounts.')).map(([, variable]) => variable)
  if (accountVariables.length > 0) tree['accounts'] = [wholeAccount(tree['accounts'])]
  return { tree, problems, reported, variables, accountVariables }
}

type Found = { readonly variable: string; readonly text: string } | { readonly variable: string; readonly problem: string }

function find(env: Environment, setting: Setting): Found | null {
  const variable = setting.lowerCase && isSet(env[setting.env.toLowerCase()]) ? setting.env.toLowerCase() : setting.env
  const text = env[variable]
  const fileVariable = `${setting.env}_FILE`
  const path = setting.file ? env[fileVariable] : undefined
  if (!isSet(path)) return isSet(text) ? { variable, text } : null
  if (isSet(text)) return { variable, problem: `${variable} and ${fileVariable} are both set; keep one of them` }
  const value = readValue(path.trim())
  if ('problem' in value) return { variable: fileVariable, problem: `${fileVariable} names a file ${value.problem}` }
  if (value.text.trim() === '')
    return { variable: fileVariable, problem: `${fileVariable} names a file with nothing in it; write the value into it` }
  return { variable: fileVariable, text: value.text }
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text.trim() !== ''
}

/** Puts a value of the environment where the settings file would hold it; a single account's values go flat below `accounts`. */
function put(tree: Tree, setting: Setting, text: string | null): void {
  const [section, ...rest] = setting.path
  if (rest.length === 0) {
    tree[String(section)] = text
    return
  }
  const values = (tree[String(section)] ?? {}) as Tree
  values[String(rest.at(-1))] = text
  tree[String(section)] = values
}

/** The account that the environment describes, laid out as in the file; it is the default one. */
function wholeAccount(flat: unknown): Tree {
  const { id, secret, ...rest } = (flat ?? {}) as Tree
  const credential: Tree = { ...(id !== undefined && { id }), ...(secret !== undefined && { secret }) }
  return { name: 'default', default: true, ...rest, client_credentials: [credential] }
}
