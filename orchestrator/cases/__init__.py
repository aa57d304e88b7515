"""Case files: their model, checks, selection and rendering. Nothing here touches a phone."""
