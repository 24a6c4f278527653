import type { ReactNode } from 'react'
import type { Role } from '../api/client.ts'
import { useMay } from '../session/session.ts'

interface ButtonProps {
  readonly onClick: () => void
  readonly children: ReactNode
  /** The role that it takes. */
  readonly needs?: Role
  readonly isBusy?: boolean
  readonly disabled?: boolean
  readonly kind?: 'primary' | 'danger' | ''
  readonly isSmall?: boolean
  readonly label?: string
}

/** A button for an action; whoever may not do it sees which role it takes. */
export function Button({ onClick, children, needs = 'viewer', isBusy = false, disabled = false, kind = '', isSmall, label }: ButtonProps) {
  const may = useMay(needs)
  return (
    <button
      type="button"
      className={`button ${kind}${isSmall ? ' small' : ''}`}
      disabled={!may || isBusy || disabled}
      aria-busy={isBusy || undefined}
      aria-label={label}
      title={may ? undefined : `This takes the role ${needs}.`}
      onClick={onClick}
    >
      {children}
    </button>
  )
}
