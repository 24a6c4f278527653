import { keyOf, type Reading, readValue, type Tree, UNREADABLE } from '../schema/reading.ts'
import { type Environment, type Setting, settings, unknownVariables } from './names.ts'

export interface EnvironmentReading extends Reading {
  /** Variable that sets each value, by the path of the value (see `keyOf`). */
  readonly variables: ReadonlyMap<string, string>
  readonly accountVariables: readonly string[]
}

/**
 * Reads all settings in the environment, each from the variable `NAME` or from the file that `NAME_FILE` names. An
 * empty variable counts as unset, because compose files pass unset variables as empty.
 * @param referred variables that the settings file refers to. They don't count as unknown.
 * @returns a tree. If a variable of an account is set, the tree has one account.
 */
export function readEnvironment(env: Environment, referred: ReadonlySet<string>): EnvironmentReading {
  const tree: Tree = {}
  const problems = unknownVariables(env, referred)
  const reported = new Set<string>()
  const variables = new Map<string, string>()
  for (const setting of settings) {
    const reading = readVariable(env, setting)
    if (reading === null) continue
    const key = keyOf(setting.path)
    variables.set(key, reading.variable)
    if ('problem' in reading) {
      problems.push(reading.problem)
      reported.add(key)
    }
    setValue(tree, setting, 'text' in reading ? reading.text : UNREADABLE)
  }
  const accountVariables = [...variables].filter(([key]) => key.startsWith('accounts.')).map(([, variable]) => variable)
  if (accountVariables.length > 0) tree['accounts'] = [accountTree(tree['accounts'])]
  return { tree, problems, reported, variables, accountVariables }
}

type VariableReading = { readonly variable: string; readonly text: string } | { readonly variable: string; readonly problem: string }

function readVariable(env: Environment, setting: Setting): VariableReading | null {
  const variable = setting.lowerCase && isSet(env[setting.env.toLowerCase()]) ? setting.env.toLowerCase() : setting.env
  const text = env[variable]
  const fileVariable = `${setting.env}_FILE`
  const path = setting.file ? env[fileVariable] : undefined
  if (!isSet(path)) return isSet(text) ? { variable, text } : null
  if (isSet(text)) return { variable, problem: `${variable} and ${fileVariable} are both set; keep one` }
  const value = readValue(path.trim())
  if ('problem' in value) return { variable: fileVariable, problem: `${fileVariable} names a file ${value.problem}` }
  if (value.text.trim() === '') return { variable: fileVariable, problem: `${fileVariable} names an empty file; write the value into it` }
  return { variable: fileVariable, text: value.text }
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text.trim() !== ''
}

/**
 * Stores a value at its path in the tree. Values of the account are stored directly under `accounts`;
 * `accountTree` completes them.
 */
function setValue(tree: Tree, setting: Setting, text: string | null): void {
  const [section, ...rest] = setting.path
  if (rest.length === 0) {
    tree[String(section)] = text
    return
  }
  const values = (tree[String(section)] ?? {}) as Tree
  values[String(rest.at(-1))] = text
  tree[String(section)] = values
}

/** @returns the account of the environment in the form of the settings file, as the default account. */
function accountTree(flat: unknown): Tree {
  const { id, secret, ...rest } = (flat ?? {}) as Tree
  const credential: Tree = { ...(id !== undefined && { id }), ...(secret !== undefined && { secret }) }
  return { name: 'default', default: true, ...rest, client_credentials: [credential] }
}
