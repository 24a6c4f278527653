import type { Command } from 'commander'
import { listNames } from '../../base/list-names.ts'
import { nearNames } from '../../base/near-names.ts'

/** A word where a command should stand, and there is none of that name. */
export interface UnknownCommand {
  readonly word: string
  /** In whose place it stands. */
  readonly of: Command
}

/** What is wrong with the first words of a command line; null: nothing. Asked before commander, which answers any `--help` with what it knows. */
export function unknownCommandIn(program: Command, argv: readonly string[]): UnknownCommand | null {
  let of = program
  for (const word of argv) {
    const takesCommands = of.commands.length > 0 && of.registeredArguments.length === 0
    if (!takesCommands || word.startsWith('-')) return null
    const next = of
      .createHelp()
      .visibleCommands(of)
      .find((each) => each.name() === word)
    if (next === undefined) return { word, of }
    of = next
  }
  return null
}

/** Ends the program as commander does for an unknown option. @param everything a program with all commands. */
export function refuseUnknown({ word, of }: UnknownCommand, everything: Command): never {
  const siblings = of.createHelp().visibleCommands(of)
  const ofSubjects = everything.commands.flatMap(({ commands }) => commands)
  const exact = of.parent === null ? ofSubjects.filter((each) => each.name() === word).map(pathOf) : []
  // `outbox resend` is meant for `destination resend`.
  const near = [exact, nearOf(word, siblings), nearOf(word, ofSubjects)].find(({ length }) => length > 0)
  const others = of.parent === null ? '' : `\n(${listNames(siblings.map((each) => each.name()))})`
  const meant = near === undefined ? others : `\n(Did you mean ${near.length > 1 ? 'one of ' : ''}${near.join(', ')}?)`
  return of.error(`unknown command '${`${pathOf(of)} ${word}`.trim()}'${meant}`, { code: 'commander.unknownCommand' })
}

function nearOf(word: string, commands: readonly Command[]): string[] {
  const near = nearNames(
    word,
    commands.map((each) => each.name()),
  )
  return commands.filter((each) => near.includes(each.name())).map(pathOf)
}

/** `outbox list`: without the name of the program. */
function pathOf(command: Command): string {
  return command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trim()
}
