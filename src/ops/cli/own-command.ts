import type { Output } from '../../base/host.ts'
import { commands } from './commands.ts'

/** A command of this program where it is there to be copied: in backticks, or alone on an indented line. */
const PRINTED = new RegExp(`(?<=\`|^ +)submission-mirror (?=(?:${Object.keys(commands).join('|')})\\b)`, 'gm')

/** The output with commands as they are typed where this process was started. @param command what is typed before the arguments. */
export function withOwnCommand(output: Output, command: string): Output {
  const write: Output['write'] = (text) => output.write(typeof text === 'string' ? text.replace(PRINTED, () => `${command} `) : text)
  return Object.create(output, { write: { value: write } })
}
