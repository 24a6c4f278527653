import { type ReactNode, useState } from 'react'
import { announceError } from '../api/announce.ts'
import { reasonOf } from '../api/client.ts'
import { Button, type ButtonProps } from './button.tsx'
import { Modal } from './modal.tsx'

export interface Question {
  readonly title: string
  readonly text: ReactNode
  /** Label of the button that confirms: a verb and its object, such as `Retry 3 changes`. */
  readonly confirmLabel: string
  readonly isDanger?: boolean
}

interface ConfirmProps extends Question {
  readonly onDo: () => void
  readonly onClose: () => void
}

export function Confirm({ title, text, confirmLabel, isDanger = false, onDo, onClose }: ConfirmProps) {
  return (
    <Modal title={title} onClose={onClose}>
      <div>{text}</div>
      <div className="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind={isDanger ? 'danger' : 'primary'}
          onClick={() => {
            onClose()
            onDo()
          }}
        >
          {confirmLabel}
        </Button>
      </div>
    </Modal>
  )
}

interface ConfirmButtonProps extends Omit<ButtonProps, 'onClick' | 'type'> {
  /** @returns the question to ask. If there is nothing to do, `ask` shows a message and returns null. */
  readonly ask: () => Question | Promise<Question | null>
  readonly onDo: () => void
  /** Shows the question in another component. Pass this if the button may disappear while the question is open. */
  readonly onQuestion?: (question: Question) => void
}

/** A button that asks for confirmation before it acts. Requires the operator role unless `requires` names another. */
export function ConfirmButton({ ask, onDo, onQuestion, isBusy = false, ...button }: ConfirmButtonProps) {
  const [question, setQuestion] = useState<Question | null>(null)
  const [isAsking, setAsking] = useState(false)
  const show = (asked: Question | null) => (asked && onQuestion ? onQuestion(asked) : setQuestion(asked))
  const open = () => {
    const asked = ask()
    if (!(asked instanceof Promise)) return show(asked)
    setAsking(true)
    void asked.then(show, (error: unknown) => announceError(reasonOf(error))).finally(() => setAsking(false))
  }
  return (
    <>
      <Button requires="operator" isSmall {...button} isBusy={isBusy || isAsking} onClick={open} />
      {question && <Confirm {...question} onDo={onDo} onClose={() => setQuestion(null)} />}
    </>
  )
}
