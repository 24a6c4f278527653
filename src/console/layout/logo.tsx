export function Logo() {
  return (
    <span className="logo inline">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" className="logo-ground" />
        <path d="M9 10h14M9 16h14M9 22h8" className="logo-lines" />
      </svg>
      <span>submission-mirror</span>
    </span>
  )
}
