import type { Command } from 'commander'
import { listNames } from '../../base/list-names.ts'
import { nearNames } from '../../base/near-names.ts'

/**
 * Rejects an unknown command before commander parses the command line.
 * If `--help` follows an unknown command, commander would show help instead of an error.
 * @param loadAll loads a program with all commands, for suggestions.
 * @throws CommanderError, as commander does for an unknown option.
 */
export async function refuseUnknown(program: Command, argv: readonly string[], loadAll: () => Promise<Command>): Promise<void> {
  let of = program
  for (const word of argv) {
    const takesCommands = of.commands.length > 0 && of.registeredArguments.length === 0
    if (!takesCommands || word.startsWith('-')) return
    const siblings = of.createHelp().visibleCommands(of)
    const next = siblings.find((each) => each.name() === word)
    if (next === undefined) {
      const ofSubjects = (await loadAll()).commands.flatMap(({ commands }) => commands)
      const hint = of.parent === null ? '' : `\n(${listNames(siblings.map((each) => each.name()))})`
      const text = `unknown command '${`${pathOf(of)} ${word}`.trim()}'${suggestionFor(word, of.parent === null, siblings, ofSubjects) ?? hint}`
      of.error(text, { code: 'commander.unknownCommand' })
    } else of = next
  }
}

/**
 * @returns a line that suggests similar commands, such as `destination resend` for `outbox resend`.
 * Returns null if no command is similar.
 */
function suggestionFor(word: string, isFirst: boolean, siblings: readonly Command[], ofSubjects: readonly Command[]): string | null {
  const exact = isFirst ? ofSubjects.filter((each) => each.name() === word) : []
  const near = [exact, nearOf(word, siblings), nearOf(word, ofSubjects)].find(({ length }) => length > 0)
  return near === undefined ? null : `\n(Did you mean ${near.length > 1 ? 'one of ' : ''}${near.map(pathOf).join(', ')}?)`
}

function nearOf(word: string, commands: readonly Command[]): Command[] {
  const names = commands.map((each) => each.name())
  const near = nearNames(word, names)
  return commands.filter((each) => near.includes(each.name()))
}

/** @returns the command's words without the name of the program. */
function pathOf(command: Command): string {
  return command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trim()
}
