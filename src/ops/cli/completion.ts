import type { Command, Option } from 'commander'

/** A command with its subcommands and options. */
interface CommandNode {
  /** The command's words, each after a space, such as ` outbox list`. Empty for the program itself. */
  readonly path: string
  readonly commands: readonly (readonly [name: string, description: string])[]
  readonly options: readonly Option[]
}

const NAME = 'submission-mirror'

/** Functions that return the completion script of a program, by shell. */
export const completions: Readonly<Record<'bash' | 'zsh' | 'fish', (program: Command) => string>> = {
  bash: (program) => {
    const places = [...placesOf(program)]
    return `_submission_mirror() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at= words= valued= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    ${stepInto(places)}
  done
  case $at in
${places.map((place) => `    ${quoted(place.path)}) words=${quoted(wordsOf(place).join(' '))} valued=${quoted(` ${valuedOf(place).join(' ')} `)} ;;`).join('\n')}
  esac
  COMPREPLY=()
  [[ $valued == *" $prev "* ]] || COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _submission_mirror ${NAME}
`
  },
  zsh: (program) => {
    const places = [...placesOf(program)]
    return `#compdef ${NAME}
_submission_mirror() {
  local at= valued= word
  local -a commands options
  for word in \${words[2,CURRENT-1]}; do
    ${stepInto(places)}
  done
  case $at in
${places.map((place) => `    ${quoted(place.path)}) commands=(${described(place.commands)}) options=(${described(flagsOf(place))}) valued=${quoted(` ${valuedOf(place).join(' ')} `)} ;;`).join('\n')}
  esac
  if [[ $valued == *" \${words[CURRENT-1]} "* ]]; then _files
  elif [[ \${words[CURRENT]} == -* ]]; then _describe -o option options
  elif (( \${#commands} )); then _describe command commands
  else _files
  fi
}
compdef _submission_mirror ${NAME}
`
  },
  fish: (program) => {
    const places = [...placesOf(program)]
    return `function __submission_mirror_at
  set -l at ''
  for word in (commandline -opc)[2..]
    contains -- "$at $word" ${places.map(({ path }) => quoted(path)).join(' ')}; and set at "$at $word"
  end
  test "$at" = "$argv[1]"
end
${places.map(fishLines).join('\n')}
`
  },
}

function* placesOf(command: Command, path = ''): Generator<CommandNode> {
  const help = command.createHelp()
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((name) => [name, description] as const),
  )
  const commands = [...help.visibleCommands(command).map((each) => [each.name(), each.description()] as const), ...choices]
  yield { path, commands, options: help.visibleOptions(command).filter(({ long }) => long) }
  for (const each of command.commands) yield* placesOf(each, `${path} ${each.name()}`)
}

/**
 * @returns bash and zsh code for one typed word. `$at` is the command typed so far. If this command has the subcommand
 * `$word`, the code appends `$word` to `$at`.
 */
function stepInto(places: readonly CommandNode[]): string {
  return `case "$at $word" in ${places.flatMap(({ path }) => (path === '' ? [] : [quoted(path)])).join('|')}) at="$at $word" ;; esac`
}

function wordsOf({ commands, options }: CommandNode): string[] {
  return [...commands.map(([name]) => name), ...options.map(({ long }) => long ?? '')]
}

function flagsOf({ options }: CommandNode): (readonly [string, string])[] {
  return options.map(({ long, description }) => [long ?? '', description])
}

/** @returns the options that require a value. */
function valuedOf({ options }: CommandNode): string[] {
  return options.flatMap(({ long, required }) => (required && long ? [long] : []))
}

function described(names: readonly (readonly [string, string])[]): string {
  return names.map(([name, description]) => quoted(`${name}:${description}`)).join(' ')
}

function fishLines({ path, commands, options }: CommandNode): string {
  const start = `complete -c ${NAME} -n ${quoted(`__submission_mirror_at "${path}"`)}`
  return [
    ...commands.map(([name, description]) => `${start} -f -a ${name} -d ${quoted(description, 'fish')}`),
    ...options.map(
      ({ long = '', required, description }) => `${start} -l ${long.slice(2)}${required ? ' -r' : ''} -d ${quoted(description, 'fish')}`,
    ),
  ].join('\n')
}

function quoted(text: string, shell?: 'fish'): string {
  return `'${shell === 'fish' ? text.replace(/[\\']/g, '\\$&') : text.replaceAll("'", "'\\''")}'`
}
