"""Small tools the rest of the package stands on: hook handles and decorators."""
